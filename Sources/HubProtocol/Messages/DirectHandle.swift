import Formats

/// The push handle that a direct send names in its headers.
///
/// Its form is not compared with the platform's: as in the service, a handle that no push service knows becomes an
/// outcome of the message, not a refusal.
///
/// Source: protocol §5.1, §5.3.
enum DirectHandle {
    /// Headers that hold a browser's keys beside its endpoint.
    static let p256dh = "P256DH"
    static let auth = "Auth"

    /// - Throws: ``ProtocolError`` 400 for a handle that cannot be one.
    static func read(
        _ handle: String,
        format: MessageFormat,
        header: (String) -> String?
    ) throws(ProtocolError) -> PushChannel {
        let channel: PushChannel
        if format == .browser, handle.trimmed.first == "{" {
            channel = try browser(handle)
        } else if format == .browser {
            guard let p256dh = header(p256dh), let auth = header(auth), !p256dh.isEmpty, !auth.isEmpty else {
                throw .badRequest(
                    "A direct send to a browser needs the headers \(Self.p256dh) and \(Self.auth) beside its endpoint in \(HeaderName.deviceHandle)."
                )
            }
            channel = .browser(BrowserPushChannel(endpoint: handle, p256dh: p256dh, auth: auth))
        } else {
            channel = .handle(handle)
        }
        if let problem = problem(of: channel) { throw .badRequest("The \(HeaderName.deviceHandle) \(problem).") }
        return channel
    }

    /// Reads the whole subscription as JSON, the form that .NET and Java use in installations.
    private static func browser(_ text: String) throws(ProtocolError) -> PushChannel {
        var problems = ProblemList()
        let node = JSONNode(content: .string(text), range: 0..<0)
        let channel = PushChannel(node, at: "The \(HeaderName.deviceHandle)", &problems)
        try problems.throwIfAny()
        guard let channel else { throw .badRequest("The \(HeaderName.deviceHandle) is not a browser's subscription.") }
        return channel
    }

    /// The reason why a text is not a handle of any platform, without quoting it.
    static func problem(of channel: PushChannel) -> String? {
        let texts =
            switch channel {
            case .handle(let text): [text]
            case .browser(let browser): [browser.endpoint, browser.p256dh, browser.auth]
            }
        if texts.contains(where: \.isEmpty) { return "is empty" }
        if texts.contains(where: { $0.utf8.count > PushChannel.maximumLength }) {
            return "is longer than \(PushChannel.maximumLength) bytes"
        }
        return texts.contains { $0.unicodeScalars.contains { $0.value <= 0x20 || $0.value == 0x7F } }
            ? "contains a space or a control character" : nil
    }
}
