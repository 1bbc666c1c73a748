package import HostSystem
package import HubProtocol
import Settings

/// The profile of an agent, and the hub that it uses.
package struct AgentConfiguration: Sendable {
    package var directory: StateDirectory
    /// The profile's name, for messages only.
    package var profile: String
    /// The connection that the user named.
    ///
    /// It overrides the stored one, and is stored together with a choice.
    package var connection: ConnectionString?
    /// The PEM file of authorities that the user named for the hub's certificate.
    ///
    /// It overrides the stored one, and is stored together with ``connection``.
    package var authorityFile: String?
    /// The connection of a hub that was found on this machine.
    ///
    /// A stored connection overrides it. It is never stored, because the hub keeps the file up to date.
    package var localConnection: ConnectionString?
    /// The hub's name, which overrides the stored one; ``HubName/standard`` if there is neither.
    package var hub: HubName?
    /// True if plain HTTP to other machines is allowed, which overrides the stored value; false if there is neither.
    package var allowsPlainHTTP: Bool?
    /// Number of finished rows that the inbox keeps, and of rows that may wait for a handler.
    package var inboxSize = AgentSettings.inboxSize.fallback
    /// This process's environment, of which handlers get a part.
    package var variables: [String: String] = [:]

    package init(directory: StateDirectory, profile: String = "default", connection: ConnectionString? = nil) {
        self.directory = directory
        self.profile = profile
        self.connection = connection
    }
}
