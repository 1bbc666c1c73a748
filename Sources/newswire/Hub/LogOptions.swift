import ArgumentParser
import HostSystem
import HubServer
import Logging
import NetworkAddresses
import ReplicatedLog
import Settings
import StartupChecks
import WebPages

/// Flags for the log that several hubs share.
struct LogOptions: ParsableArguments {
    @Option(HubSettings.logServers)
    var logServers: [LogServer]?

    @Option(HubSettings.logName)
    var logName: String?

    @Option(HubSettings.logNode)
    var logNode: String?

    @Option(HubSettings.logReplicas)
    var logReplicas: Int?

    @Option(secretFile: HubSettings.logCredentials)
    var logCredentials: String?

    @Option(HubSettings.logAuthority)
    var logCa: String?

    @Option(HubSettings.logCertificate)
    var logCertificate: String?

    @Option(secretFile: HubSettings.logKey)
    var logKey: String?

    /// Returns the settings, overridden by these flags.
    func resolved(_ settings: Settings) -> LogSettings {
        var log = LogSettings(settings)
        log.servers = logServers ?? log.servers
        log.name = logName ?? log.name
        log.node = logNode ?? log.node
        log.replicas = logReplicas ?? log.replicas
        log.credentials = logCredentials ?? log.credentials
        log.authority = logCa ?? log.authority
        log.certificate = logCertificate ?? log.certificate
        log.key = logKey ?? log.key
        return log
    }
}

extension HubServe {
    /// Returns the configuration of the log that this hub shares with others; `nil` without one.
    ///
    /// - Throws: ``Failure`` for settings that cannot be combined.
    func logConfiguration(_ settings: Settings, _ hub: HubConfiguration) throws -> ReplicatedLogConfiguration? {
        let log = logOptions.resolved(settings)
        let problems = log.problems(
            hasAppBackend: settings.value(HubSettings.appBackend, flag: appBackend),
            hasPages: hub.pages != .off
        )
        if let problem = problems.first { throw Failure(.badConfiguration, problem) }
        guard emulate, log.servers != nil else { return log.configuration }
        throw Failure(.usage, "--emulate serves this machine only, and 'log-servers' is set", hint: "omit one of them")
    }
}
