import HostSystem
import HubProtocol

/// A registration as it is printed; what is absent, it has not.
struct RegistrationOutput: Encodable {
    let id: String
    let etag: Int
    /// Absent for never.
    let expiresAt: String?
    let platform: String
    /// A browser's is its endpoint.
    let handle: String
    let tags: [String]
    let tile: String?
    let pushVariables: [String: String]?
    let template: Template?

    struct Template: Encodable {
        let name: String
        let body: String
        let headers: [String: String]?
        let expiry: String?
        let priority: String?
    }

    init(_ registration: Registration) {
        id = registration.id.text
        etag = registration.etag
        expiresAt = registration.expirationTime.map(ISODateTime.format)
        platform = registration.platform.rawValue
        handle = registration.pushChannel.handle
        tags = registration.tags.map(\.text)
        tile = registration.secondaryTileName
        pushVariables = registration.pushVariables.isEmpty ? nil : registration.pushVariables
        template = registration.template.map { template in
            Template(
                name: template.name,
                body: template.body,
                headers: template.headers.isEmpty ? nil : template.headers,
                expiry: template.expiry,
                priority: template.priority
            )
        }
    }

    /// All that a list needs, fit for a terminal whatever the hub says.
    var line: String {
        let kind = template.map { $0.name.isEmpty ? "template" : "template '\($0.name)'" } ?? "native"
        let beginning = handle.count > Self.shownHandle ? "\(handle.prefix(Self.shownHandle))…" : handle
        let labels = tags.isEmpty ? "no tags" : tags.joined(separator: ", ")
        return TerminalText.safe([id, platform, kind, beginning, labels].joined(separator: "  "))
    }

    /// Characters of a handle in a list: enough to tell devices apart.
    private static let shownHandle = 16

    /// In full.
    var lines: [String] {
        var lines = [
            "id        \(id)", "platform  \(platform)", "handle    \(handle)",
            "tags      \(tags.isEmpty ? "none" : tags.joined(separator: ", "))",
        ]
        if let tile { lines.append("tile      \(tile)") }
        for (name, value) in Self.sorted(pushVariables) { lines.append("variable  \(name): \(value)") }
        if let template {
            lines.append("template  \(template.name.isEmpty ? template.body : "\(template.name): \(template.body)")")
            for (name, value) in Self.sorted(template.headers) { lines.append("header    \(name): \(value)") }
            if let expiry = template.expiry { lines.append("expiry    \(expiry)") }
            if let priority = template.priority { lines.append("priority  \(priority)") }
        }
        lines += ["etag      \(etag)", "expires   \(expiresAt ?? "never")"]
        return lines.map(TerminalText.safe)
    }

    private static func sorted(_ texts: [String: String]?) -> [(key: String, value: String)] {
        (texts ?? [:]).sorted { $0.key < $1.key }
    }
}
