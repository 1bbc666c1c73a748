import HostSystem
import HubServer
import Logging
import NetworkAddresses
import PushEmulator
import Settings

// MARK: - Emulated push services

extension HubServe {
    /// Starts emulated push services, and makes a hub use them.
    func emulatePush(
        _ configuration: inout HubConfiguration,
        _ state: StateDirectory,
        _ settings: Settings,
        _ logger: Logger
    ) async throws -> EmulatedPush {
        guard NetworkAddress(configuration.host)?.isLoopback == true else {
            throw Failure(
                .usage,
                "--emulate serves this machine only, and --listen is \(configuration.host)",
                hint: "omit --listen"
            )
        }
        if !isPortChosen(settings), !LocalPort.isFree(configuration.port, on: configuration.host) {
            Console.notice("port \(configuration.port) is in use: this hub listens on a free one")
            configuration.port = 0
        }
        let emulated = try await EmulatedPush.start(state, logger)
        configuration.emulator = emulated.emulator
        configuration.pushServices = emulated.services
        return emulated
    }

    /// True if the port was chosen for this start, and not for the regular hub, beside which an emulated one runs.
    private func isPortChosen(_ settings: Settings) -> Bool {
        switch settings.origin(of: HubSettings.port.entry) {
        case .variable, .flag: true
        case .file, nil: false
        }
    }
}
