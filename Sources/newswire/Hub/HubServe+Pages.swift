import HostSystem
import HubProtocol
import HubServer
import Logging
import MountedBackend
import PageServer
import Settings

/// The pages that a hub mounts.
extension HubServe {
    /// - Returns: `nil` if the hub's pages are disabled.
    func pageServer(
        on service: HubService,
        _ configuration: HubConfiguration,
        _ state: StateDirectory,
        backend: BackendMount?,
        _ logger: Logger
    ) throws -> PageServer? {
        guard configuration.pages != .off else { return nil }
        let store = try PageStore(path: state.file(HubFiles.pages))
        return try PageServer(store: store, on: service, configuration, backend: backend, logger: logger)
    }
}
