import HostSystem
import HubProtocol

/// The output of an agent's or page's installation; JSON members as in ``RegistrationOutput``.
struct InstallationOutput: Encodable {
    let installationId: String
    let platform: String
    /// Absent if the installation never expires.
    let expirationTime: String?
    let userId: String?
    let tags: [String]
    let templates: [String]

    init(_ entry: InstallationList.Entry) {
        installationId = entry.id.text
        platform = entry.platform.rawValue
        expirationTime = entry.expiresAt
        userId = entry.user
        tags = entry.tags
        templates = entry.templates
    }

    /// The installation as one line, safe for a terminal.
    var line: String {
        let labels = tags.isEmpty ? "no tags" : tags.joined(separator: ", ")
        return TerminalText.safe([installationId, platform, "installation", labels].joined(separator: "  "))
    }
}

/// The output of a registration.
///
/// JSON members have the protocol's names for installations; empty ones are omitted.
struct RegistrationOutput: Encodable {
    let registrationId: String
    let etag: Int
    /// Absent if the registration never expires.
    let expirationTime: String?
    let platform: String
    /// The push handle; for a browser its endpoint, whose keys are separate members.
    let pushChannel: String
    private(set) var p256dh: String?
    private(set) var auth: String?
    let tags: [String]
    let secondaryTileName: String?
    let pushVariables: [String: String]?
    let template: Template?

    struct Template: Encodable {
        let name: String
        let body: String
        let headers: [String: String]?
        let expiry: String?
        let priority: String?
        /// The message type, on Baidu.
        let messageType: String?
    }

    init(_ registration: Registration) {
        registrationId = registration.id.text
        etag = registration.etag
        expirationTime = registration.expirationTime.map(ISODateTime.formatMilliseconds)
        platform = registration.platform.rawValue
        pushChannel = registration.pushChannel.handle
        if case .browser(let browser) = registration.pushChannel { (p256dh, auth) = (browser.p256dh, browser.auth) }
        tags = registration.tags.map(\.text)
        secondaryTileName = registration.secondaryTileName
        pushVariables = registration.pushVariables.isEmpty ? nil : registration.pushVariables
        template = registration.template.map { template in
            Template(
                name: template.name,
                body: template.body,
                headers: template.headers.isEmpty ? nil : template.headers,
                expiry: template.expiry,
                priority: template.priority,
                messageType: template.messageType
            )
        }
    }

    /// The registration as one line, safe for a terminal.
    var line: String {
        let kind = template.map { $0.name.isEmpty ? "template" : "template '\($0.name)'" } ?? "native"
        let labels = tags.isEmpty ? "no tags" : tags.joined(separator: ", ")
        return TerminalText.safe([registrationId, platform, kind, handlePart, labels].joined(separator: "  "))
    }

    /// The part of the handle that distinguishes devices: the start of a token or the end of an address.
    private var handlePart: String {
        guard pushChannel.count > Self.shownHandle else { return pushChannel }
        let isAddress = pushChannel.contains("://")
        return isAddress ? "…\(pushChannel.suffix(Self.shownHandle))" : "\(pushChannel.prefix(Self.shownHandle))…"
    }

    private static let shownHandle = 16

    /// All fields of the registration, one per line.
    var lines: [String] {
        var lines = ["id        \(registrationId)", "platform  \(platform)", "handle    \(pushChannel)"]
        if let p256dh, let auth { lines += ["p256dh    \(p256dh)", "auth      \(auth)"] }
        lines.append("tags      \(tags.isEmpty ? "none" : tags.joined(separator: ", "))")
        if let secondaryTileName { lines.append("tile      \(secondaryTileName)") }
        for (name, value) in Self.sorted(pushVariables) { lines.append("variable  \(name): \(value)") }
        if let template {
            lines.append("template  \(template.name.isEmpty ? template.body : "\(template.name): \(template.body)")")
            for (name, value) in Self.sorted(template.headers) { lines.append("header    \(name): \(value)") }
            if let expiry = template.expiry { lines.append("expiry    \(expiry)") }
            if let priority = template.priority { lines.append("priority  \(priority)") }
            if let type = template.messageType { lines.append("message   type \(type)") }
        }
        lines += ["etag      \(etag)", "expires   \(expirationTime ?? "never")"]
        return lines.map(TerminalText.safe)
    }

    private static func sorted(_ texts: [String: String]?) -> [(key: String, value: String)] {
        (texts ?? [:]).sorted { $0.key < $1.key }
    }
}
