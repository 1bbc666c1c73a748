import Formats
import Markup

/// Rules for the body of a message in a native format.
///
/// Checks only for errors that would keep the notification from everybody, so that its sender learns of them early. The
/// content is the platform's own business, and is forwarded unchanged.
///
/// Source: protocol §5.1.
enum NativeBody {
    /// Decodes and checks a body.
    ///
    /// A Windows notification without a header for its kind gets the kind that its root element names.
    ///
    /// - Throws: ``ProtocolError`` 400 with the form that the format requires.
    static func read(
        _ bytes: [UInt8],
        type: MediaType,
        format: MessageFormat,
        headers: inout ForwardedHeaders
    ) throws(ProtocolError) -> [UInt8] {
        guard !bytes.isEmpty else {
            throw .badRequest("The message has no body; format '\(format)' needs \(wanted(format)).")
        }
        if format == .windows, headers[WindowsHeader.type]?.lowercased() == WindowsHeader.raw {
            // WNS would refuse it only after the sender has its reply.
            guard !type.isXML else {
                throw .badRequest(
                    "X-WNS-Type is wns/raw but the content type is '\(type.name.excerpt)': send application/octet-stream, or name the kind of the document in X-WNS-Type."
                )
            }
            return bytes
        }
        let text = try BodyText.utf8(bytes, charset: type.charset, called: "The body")
        switch format {
        case .windows: try checkWindows(text, &headers)
        case .windowsphone: try checkWindowsPhone(text, headers)
        // The protocol does not define the bodies of Baidu and Xiaomi.
        case .baidu, .xiaomi: break
        default: _ = try object(text, format)
        }
        return text
    }

    private static func wanted(_ format: MessageFormat) -> String {
        switch format {
        case .windows: "a toast, tile or badge document in XML, or any bytes with X-WNS-Type: wns/raw"
        case .windowsphone: "a wp:Notification document in XML, or a raw notification"
        case .baidu, .xiaomi: "a notification of its platform"
        default: "a JSON object"
        }
    }

    private static func object(_ text: [UInt8], _ format: MessageFormat) throws(ProtocolError) -> [JSONMember] {
        do {
            return try JSONDocument.object(
                text,
                maximumBytes: Message.maximumBytes,
                called: "the body",
                allowsRepeats: true
            )
        } catch {
            throw ProtocolError(
                status: error.status,
                detail: "Format '\(format)' needs \(wanted(format)): \(error.detail)."
            )
        }
    }

    // MARK: - Windows

    private static func checkWindows(_ text: [UInt8], _ headers: inout ForwardedHeaders) throws(ProtocolError) {
        let type = headers[WindowsHeader.type]?.lowercased()
        guard type != nil || text.first(where: { !isSpace($0) }) == UInt8(ascii: "<") else {
            throw .badRequest(
                "The header X-WNS-Type is missing and the body is not XML: send wns/toast, wns/tile, wns/badge, or wns/raw for bytes of your own."
            )
        }
        let root = try rootElement(of: text, .windows)
        if let type {
            let kinds = WindowsHeader.kinds.map { "wns/\($0)" } + [WindowsHeader.raw]
            guard kinds.contains(type) else {
                throw .badRequest("X-WNS-Type '\(type.excerpt)' is not one of \(kinds.joined(separator: ", ")).")
            }
            guard "wns/\(root)" == type else {
                throw .badRequest("X-WNS-Type is \(type) but the body's root element is '\(root.excerpt)'.")
            }
        } else {
            guard WindowsHeader.kinds.contains(root) else {
                throw .badRequest(
                    "The header X-WNS-Type is missing and the root element '\(root.excerpt)' is not one of toast, tile, badge."
                )
            }
            headers.set(WindowsHeader.type, to: "wns/\(root)")
        }
    }

    /// Without a target the notification is raw, and may be anything.
    private static func checkWindowsPhone(_ text: [UInt8], _ headers: ForwardedHeaders) throws(ProtocolError) {
        guard headers["x-windowsphone-target"] != nil else { return }
        let root = try rootElement(of: text, .windowsphone)
        guard root == "notification" else {
            throw .badRequest(
                "Format 'windowsphone' needs \(wanted(.windowsphone)); the root element is '\(root.excerpt)'."
            )
        }
    }

    /// The root element's name in lower case, without its prefix.
    private static func rootElement(of text: [UInt8], _ format: MessageFormat) throws(ProtocolError) -> String {
        let document = XMLDeclaration.withoutEncoding(String(decoding: text, as: UTF8.self))
        do {
            try XMLWellFormedness.check(document)
        } catch {
            throw .badRequest("Format '\(format)' needs \(wanted(format)); the body is not well-formed XML: \(error).")
        }
        return NativeHeaders.root(of: text)?.localName.lowercased() ?? ""
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Headers that name the kind of a Windows notification.
enum WindowsHeader {
    static let type = "x-wns-type"
    static let raw = "wns/raw"
    static let kinds = ["toast", "tile", "badge"]
}
