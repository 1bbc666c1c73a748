package import HubProtocol

/// The servers that keep a log, as they last answered.
package struct LogServerReport: Sendable, Equatable {
    /// The present time by the clock of each server that has led the log in the last minutes, by the server's name.
    package var clocks: [String: Timestamp]
    /// `nil` until the servers have answered.
    package var replicas: HubOverview.Node.Replicas?

    package init(clocks: [String: Timestamp] = [:], replicas: HubOverview.Node.Replicas? = nil) {
        self.clocks = clocks
        self.replicas = replicas
    }
}
