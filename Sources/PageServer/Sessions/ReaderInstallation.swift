import Foundation
import HubProtocol

/// The installations that sessions have at the hub, by the beginning of their ids.
enum ReaderInstallation: String, CaseIterable, Sendable {
    /// The installation of a session's open pages.
    case page = "page-"
    /// The installation of a session's browser, for notifications while no page is open.
    case browser = "browser-"

    /// The beginning of the ids.
    var prefix: String { rawValue }

    private var form: (platform: Platform, template: String) {
        switch self {
        case .page: (.stream, AgentTemplate.name)
        case .browser: (.browser, BrowserTemplate.name)
        }
    }

    func newID() throws -> InstallationID { try InstallationID("\(prefix)\(UUID().uuidString.lowercased())") }

    /// True if pages have registered an installation; clients choose ids of their own, but hardly this form with this
    /// template.
    func isOurs(_ installation: Installation) -> Bool {
        let id = installation.id.text
        guard id.hasPrefix(prefix), let uuid = UUID(uuidString: String(id.dropFirst(prefix.count))) else {
            return false
        }
        return id == "\(prefix)\(uuid.uuidString.lowercased())" && installation.platform == form.platform
            && Array(installation.templates.keys) == [form.template]
    }
}
