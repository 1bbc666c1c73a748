import HostSystem
import HubProtocol
import HubServer
import ReplicatedLog
import Settings
import StartupChecks

extension HubServe {
    /// Returns the configuration of the log that this hub shares with others; `nil` without one.
    ///
    /// - Throws: ``Failure`` for settings that cannot be combined.
    func logConfiguration(
        _ settings: Settings,
        _ hub: HubConfiguration,
        hasAppBackend: Bool
    ) throws -> ReplicatedLogConfiguration? {
        let log = LogSettings(settings)
        let problems = log.problems(hasAppBackend: hasAppBackend, hasPages: hub.pages != .off)
        if let problem = problems.first { throw Failure(.badConfiguration, problem) }
        guard emulate, log.servers != nil else { return log.configuration }
        throw Failure(.usage, "--emulate serves this machine only, and 'log-servers' is set", hint: "omit one of them")
    }
}
