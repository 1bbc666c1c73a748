internal import HostSystem
internal import NetworkAddresses
internal import Synchronization

/// Opens links with a program, on desktops without the portal that opens links.
final class LinkOpener: Sendable {
    /// Maximum number of started programs that still run: the first `xdg-open` can turn into the browser itself.
    static let maximumRunning = 16

    static let standard = "xdg-open"

    private let program: String
    private let environment: [String: String]
    private let report: @Sendable (String) -> Void
    private let running = Mutex(0)

    init(program: String, environment: [String: String], report: @escaping @Sendable (String) -> Void) {
        self.program = program
        self.environment = environment
        self.report = report
    }

    /// Starts the program with the link as its only argument, without a shell, and does not wait for it.
    func open(_ link: WebLink, token: String?) {
        let hasRoom = running.withLock { running in
            guard running < Self.maximumRunning else { return false }
            running += 1
            return true
        }
        guard hasRoom else {
            return report("cannot open '\(link.text)': \(Self.maximumRunning) browsers are open; close one first")
        }
        var variables = environment
        variables["XDG_ACTIVATION_TOKEN"] = token
        DetachedProgram.start([program, link.text], environment: variables) { [self] result in
            running.withLock { $0 -= 1 }
            switch result {
            case .success(.exited(0)), .success(.signalled): break
            case .success(.exited(let code)): report("cannot open '\(link.text)': \(program) exited with \(code)")
            case .failure(let error):
                let hint = error.isMissing ? "; install xdg-utils or xdg-desktop-portal" : ""
                report("cannot open '\(link.text)': \(error)\(hint)")
            }
        }
    }
}
