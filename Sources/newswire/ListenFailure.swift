import Foundation
import HostSystem
import HubServer

extension Failure {
    /// The failure of a server that cannot listen; `portFlag` sets its port.
    init(_ error: HubListenError, listen: String, port: Int, portFlag: String = "--port") {
        let status: ExitStatus
        let hint: String
        switch error.cause {
        case .address: (status, hint) = (.badConfiguration, "pass another --listen")
        case .port: (status, hint) = (.tryLater, "pass another \(portFlag)")
        case .privilege, .serviceManager:
            status = .badConfiguration
            hint = Self.cure(
                port: port,
                portFlag,
                isService: ProcessInfo.processInfo.environment["NOTIFY_SOCKET"] != nil
            )
        }
        self.init(status, "cannot listen on \(listen):\(port): \(error.reason)", hint: hint)
    }

    /// Returns the step that permits a port below 1024.
    static func cure(port: Int, _ portFlag: String, isService: Bool) -> String {
        guard isService else {
            let program = Bundle.main.executablePath ?? "/usr/bin/newswire"
            let setting = "sudo setcap cap_net_bind_service=+ep \(program.shellWord)"
            return "\(setting), or pass \(portFlag) with a port from 1024"
        }
        let lines = [
            "SocketBindAllow=tcp:\(port)", "AmbientCapabilities=CAP_NET_BIND_SERVICE",
            "CapabilityBoundingSet=CAP_NET_BIND_SERVICE", "PrivateUsers=no",
        ]
        return "add to the unit's [Service], by 'systemctl edit': \(lines.joined(separator: ", "))"
    }
}
