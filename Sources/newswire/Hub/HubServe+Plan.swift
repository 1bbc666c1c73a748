import Alarms
import Foundation
import HostSystem
import HubProtocol
import HubServer
import Logging
import NetworkAddresses
import PushServices
import ReplicatedLog
import Settings
import StartupChecks
import WebPages

/// Everything that flags and settings decide about a start, before anything is served.
///
/// A test changes each setting in turn, and expects another plan.
struct HubPlan {
    let configuration: HubConfiguration
    /// The log that this hub shares with others; `nil` without one.
    let log: ReplicatedLogConfiguration?
    let endpoint: HubEndpoint
    /// The appearance of the pages of hubs.
    let appearances: [HubName: PageAppearance]
    let servesAppBackend: Bool
    let logLevel: Logger.Level

    var logger: Logger {
        var logger = Logger(label: "newswire.hub")
        logger.logLevel = logLevel
        return logger
    }
}

extension HubServe {
    /// Reads all settings of the hub, and creates its certificate if necessary.
    ///
    /// - Parameters:
    ///   - settings: The settings of file, environment and flags.
    ///   - state: The state directory.
    /// - Returns: The plan of this start.
    /// - Throws: ``Failure`` for settings that cannot be used together.
    func plan(_ settings: Settings, _ state: StateDirectory) throws -> HubPlan {
        var hub = try hubConfiguration(settings, state)
        hub.provisions = try ConfiguredKeys(environment: ProcessInfo.processInfo.environment)
            .provisions(of: settings.hubs)
        let isNamed = settings.origin(of: HubSettings.name.entry) != nil
        hub.makesFirstHub = isNamed || settings.hubs.hubs.isEmpty
        let servesAppBackend = settings.value(HubSettings.appBackend)
        let log = try logConfiguration(settings)
        let endpoint = try HubEndpoint(
            hostNames: settings.value(HubSettings.hostNames),
            // An emulated hub has the settings of the regular one, and no proxy leads to it.
            publicAddress: emulate
                ? configuration.flags.value(HubSettings.publicAddress) : settings.value(HubSettings.publicAddress),
            certificate: settings.value(HubSettings.tlsCertificate),
            key: settings.value(HubSettings.tlsKey),
            listen: hub.host,
            state: state,
            isShared: log != nil
        )
        hub.certificate = endpoint.certificate
        hub.publicAddress = endpoint.publicAddress
        return HubPlan(
            configuration: hub,
            log: log,
            endpoint: endpoint,
            appearances: try ConfiguredPages.appearances(of: settings.hubs),
            servesAppBackend: servesAppBackend,
            logLevel: settings.value(HubSettings.logLevel).level
        )
    }

    private func hubConfiguration(_ settings: Settings, _ state: StateDirectory) throws -> HubConfiguration {
        let name = try HubName(given: settings.value(HubSettings.name))
        var configuration = HubConfiguration(
            databasePath: state.file(HubFiles.database),
            hubName: name,
            settings: settings
        )
        configuration.generationPath = state.file(HubFiles.generation)
        configuration.version = Program.version
        let hosts = settings.value(HubSettings.pushHosts) ?? []
        configuration.pushServices = PushServiceDirectory(
            emulation: pushOrigin.map { origin in
                PushServiceDirectory.Emulation(
                    origin: origin,
                    certificateAuthorities: pushAuthorities ?? "",
                    credentials: []
                )
            },
            browserHosts: hosts.map(\.description),
            browserAddresses: settings.value(HubSettings.pushAddresses) ?? [],
            tokens: ProviderTokenFile(path: state.file(HubFiles.apnsTokens), secretsPath: configuration.secretsPath),
            userAgent: "newswire/\(Program.version)"
        )
        return configuration
    }

    /// Returns the configuration of the log that this hub shares with others; `nil` without one.
    ///
    /// - Throws: ``Failure`` for settings that cannot be combined.
    private func logConfiguration(
        _ settings: Settings
    ) throws -> ReplicatedLogConfiguration? {
        let log = LogSettings(settings)
        if let problem = log.problems.first { throw Failure(.badConfiguration, problem) }
        guard emulate, log.configuration != nil else { return log.configuration }
        throw Failure(.usage, "--emulate serves this machine only, and 'log-servers' is set", hint: "omit one of them")
    }
}
