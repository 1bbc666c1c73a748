package import HostSystem
package import HubProtocol

/// Which profile, and with which hub it speaks.
package struct AgentConfiguration: Sendable {
    package static let defaultHub = "news"

    package var directory: StateDirectory
    /// As the user calls it; for messages only.
    package var profile: String
    /// From a file or the environment; over the stored one, and stored together with a choice.
    package var connection: ConnectionString?
    /// Over the stored one; ``defaultHub`` without either.
    package var hub: HubName?
    /// Over the stored answer; `false` without either.
    package var allowsPlainHTTP: Bool?
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
