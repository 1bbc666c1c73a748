import AppBackend
import HostSystem
import HubServer
import Logging
import MountedBackend
import NetworkAddresses
import OutboundHTTP
import Settings
import StartupChecks

/// The app backend that a hub mounts.
extension HubServe {
    /// Locks the app backend's files for this hub.
    ///
    /// - Returns: `nil` if another process uses the files, which is logged.
    func backendLock(_ state: StateDirectory, _ logger: Logger) throws -> FileLock? {
        if let lock = try FileLock.acquire(state.file(HubFiles.backendLock)) { return lock }
        logger.warning(
            "the hub starts without the app backend: 'newswire backend' is using the state directory",
            metadata: ["state.path": "\(state.path)"]
        )
        return nil
    }

    /// Creates the app backend of the server's primary hub.
    ///
    /// Its limits and proxies are the hub's; the texts of secure pushes, the roles and the identity providers come from
    /// the section `backend`.
    func mount(
        on service: HubService,
        _ hub: HubConfiguration,
        _ state: StateDirectory,
        _ settings: Settings,
        _ http: OutboundClient,
        _ logger: Logger
    ) throws -> BackendMount {
        var configuration = BackendConfiguration()
        let identity = IdentitySettings(settings)
        if let problem = identity.problems().first { throw Failure(.badConfiguration, problem) }
        identity.apply(to: &configuration, http: http)
        configuration.trustedProxies = TrustedProxies(hub.trustedProxies)
        configuration.reservedTags = hub.reservedTags
        configuration.maximumTags = hub.maximumTags
        configuration.notifications = settings.value(BackendSettings.notifications)
        configuration.secureText = settings.value(BackendSettings.secureText)
        configuration.secureAlert = settings.value(BackendSettings.secureAlert)
        configuration.secureNotice = settings.value(BackendSettings.secureNotice)
        return BackendMount(
            BackendMount.Files(
                database: state.file(HubFiles.backend),
                key: state.file(HubFiles.backendKey)
            ),
            on: service,
            configuration: configuration,
            logger: logger
        )
    }
}
