import Markup

/// A sender's headers for a native body, apart from its format.
///
/// The root element shows the kind of a Windows notification, as in the SDKs; a body without one is raw.
///
/// Source: protocol §5.1.
package struct NativeHeaders: Sendable {
    package let contentType: String
    package let headers: [(name: String, value: String)]

    package init(of body: [UInt8], format: MessageFormat) {
        switch format {
        case .windows:
            let root = Self.root(of: body)?.localName.lowercased()
            let kind = root.flatMap { WindowsHeader.kinds.contains($0) ? $0 : nil }
            headers = [("X-WNS-Type", kind.map { "wns/\($0)" } ?? WindowsHeader.raw)]
            contentType = kind == nil ? "application/octet-stream" : Self.xml
        case .windowsphone:
            // The first child distinguishes a toast from a tile; each of these classes is delivered at once.
            switch Self.root(of: body)?.children.first(where: { _ in true })?.localName.lowercased() {
            case "toast": headers = [("X-WindowsPhone-Target", "toast"), ("X-NotificationClass", "2")]
            case "tile": headers = [("X-WindowsPhone-Target", "token"), ("X-NotificationClass", "1")]
            default: headers = [("X-NotificationClass", "3")]
            }
            contentType = Self.xml
        default:
            headers = []
            contentType = "application/json;charset=utf-8"
        }
    }

    private static let xml = "application/xml;charset=utf-8"

    /// The root element of a body that begins like XML.
    static func root(of body: [UInt8]) -> XMLElement? {
        guard body.first(where: { $0 > 0x20 && $0 < 0x80 }) == UInt8(ascii: "<") else { return nil }
        let document = XMLDeclaration.withoutEncoding(String(decoding: body, as: UTF8.self))
        return XMLScanner.tree(of: Array(document.utf8), vocabulary: .plain).root
    }
}
