import Formats

/// The query's `$filter` of a list: the registrations of one push handle.
///
/// `{property} eq '{handle}'`, and for handles with several parts `{property} eq '{part}' and …`. The property is only
/// a hint: .NET and Java name every handle `ChannelUri`.
///
/// Source: protocol §3.5.
package struct HandleFilter: Sendable, Equatable {
    /// Longest filter, in bytes: a handle with every byte escaped once more, and the words around it.
    package static let maximumBytes = 3 * PushChannel.maximumLength + 4_096

    /// The handle as it was written, and unescaped if it was escaped once more; either may be meant.
    ///
    /// The JavaScript SDK escapes addresses before it escapes the query.
    package let handles: [String]
    /// The key that a browser's channel must have as well.
    let p256dh: String?
    let auth: String?

    /// Reads a filter without percent-encoding in which each `+` was kept: outside a handle a `+` is a blank, inside a
    /// handle it is part of it.
    ///
    /// - Throws: ``ProtocolError`` 400 with the expected form; the handle is not quoted.
    package init(parsing text: String) throws(ProtocolError) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw .badRequest("$filter is longer than \(Self.maximumBytes) bytes")
        }
        // Without a quotation mark it can only have been escaped twice.
        let isEscaped = !text.utf8.contains(UInt8(ascii: "'")) && text.utf8.contains(UInt8(ascii: "%"))
        var parser = HandleFilterParser(Array((isEscaped ? PercentEncoding.decode(text) ?? text : text).utf8))
        var parts = try parser.parse()

        let (user, channel) = (RegistrationField.baiduUserID.name, RegistrationField.baiduChannelID.name)
        if parts[user] != nil, parts[channel] != nil {
            parts[HandleFilterParser.baidu] = [user, channel].compactMap { parts.removeValue(forKey: $0) }
                .joined(separator: "-")
        }
        let p256dh = parts.removeValue(forKey: RegistrationField.p256dh.name)
        let auth = parts.removeValue(forKey: RegistrationField.auth.name)
        guard let handle = parts.first?.value, parts.count == 1 else {
            throw HandleFilterParser.failure(parts.isEmpty ? "it names no handle" : "it names more than one handle")
        }
        if let whole = BrowserPushChannel(text: handle) {
            self.init(handles: [whole.endpoint], p256dh: whole.p256dh, auth: whole.auth)
        } else {
            let decoded = handle.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.decode(handle) : nil
            self.init(handles: [handle] + (decoded.map { $0 == handle ? [] : [$0] } ?? []), p256dh: p256dh, auth: auth)
        }
    }

    private init(handles: [String], p256dh: String?, auth: String?) {
        self.handles = handles
        self.p256dh = p256dh
        self.auth = auth
    }

    /// True if the filter asks for this channel.
    package func matches(_ channel: PushChannel) -> Bool {
        guard handles.contains(where: channel.isAddressed(by:)) else { return false }
        switch channel {
        case .handle: return p256dh == nil && auth == nil
        case .browser(let browser):
            return (p256dh ?? browser.p256dh) == browser.p256dh && (auth ?? browser.auth) == browser.auth
        }
    }
}

extension BrowserPushChannel {
    /// Reads the JSON that .NET writes for a browser's handle.
    fileprivate init?(text: String) {
        guard text.utf8.first == UInt8(ascii: "{"), let node = try? JSONReader.read(Array(text.utf8)) else {
            return nil
        }
        var problems = ProblemList()
        guard case .browser(let browser)? = PushChannel(node, at: "", &problems) else { return nil }
        self = browser
    }
}
