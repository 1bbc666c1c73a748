package import HostSystem
package import HubProtocol
import Settings

/// The profile of an agent, and the hub that it uses.
package struct AgentConfiguration: Sendable {
    package var directory: StateDirectory
    /// The name that the user has given it, for messages only.
    package var profile: String
    /// The connection that the user named.
    ///
    /// It overrides the stored one, and is stored together with a choice.
    package var connection: ConnectionString?
    /// The PEM file that the user named to check the hub's certificate with.
    ///
    /// It overrides the stored one, and is stored together with ``connection``.
    package var authorityFile: String?
    /// The connection of a hub that was found on this machine.
    ///
    /// The stored one overrides it, and it is never stored: the hub keeps the file up to date.
    package var localConnection: ConnectionString?
    /// The hub's name, in place of the stored one; ``HubName/standard`` without either.
    package var hub: HubName?
    /// True if plain HTTP to other machines is allowed, in place of the stored answer; false without either.
    package var allowsPlainHTTP: Bool?
    /// Number of rows that the inbox keeps after they are done, and of rows that may wait for a handler.
    package var inboxSize = AgentSettings.inboxSize.fallback
    /// Our own environment, of which handlers get a part.
    package var variables: [String: String]

    package init(
        directory: StateDirectory,
        profile: String = "default",
        connection: ConnectionString? = nil,
        hub: HubName? = nil,
        allowsPlainHTTP: Bool? = nil,
        variables: [String: String] = [:]
    ) {
        self.directory = directory
        self.profile = profile
        self.connection = connection
        self.hub = hub
        self.allowsPlainHTTP = allowsPlainHTTP
        self.variables = variables
    }
}
