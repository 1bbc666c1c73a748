import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Synchronization

/// The current login, its state and that of its app backend; each change of state is reported once.
final class LoginSource: Sendable {
    /// Time before repeating a call that was refused for a reason that only a person can remove.
    static let longWait = Duration.seconds(600)

    let file: LoginFile
    private let directory: StateDirectory
    private let http: OutboundClient
    /// The hub's authorities that a flag names, which override those of the profile.
    private let hubAuthority: String?
    private let environment: AgentEnvironment
    private let state = Mutex(State())

    private struct State {
        /// The token that the app backend no longer accepts.
        var refused: String?
        /// The monotonic time until which the app backend is not called.
        var notBefore: Duration?
        var backoff = Backoff()
        var isAway = false
        /// The last refusal that was reported.
        var refusal: String?
        var unreadable: String?
    }

    init(_ directory: StateDirectory, hubAuthority: String?, http: OutboundClient, environment: AgentEnvironment) {
        self.directory = directory
        file = LoginFile(directory)
        self.hubAuthority = hubAuthority
        self.http = http
        self.environment = environment
    }

    // MARK: - The login

    /// Reads the file, because another process may log in or out while this one listens.
    func found() -> LoginFile.State {
        let found = file.state()
        var problem: String?
        if case .unreadable(let text) = found { problem = text }
        let former = state.withLock { exchange(&$0.unreadable, with: problem) }
        if let problem, problem != former { environment.reporter.warning("\(problem); continuing without a login") }
        return found
    }

    /// Returns the login; `nil` if there is none, or the app backend no longer accepts its token.
    func accepted() -> Login? {
        guard case .present(let login) = found(), !isRefused(login) else { return nil }
        return login
    }

    func isRefused(_ login: Login) -> Bool { state.withLock { $0.refused == login.token } }

    /// Time until the app backend may be called again; `nil` if it may be called now.
    var pause: Duration? {
        let now = environment.elapsed()
        return state.withLock { $0.notBefore }.flatMap { $0 > now ? $0 - now : nil }
    }

    /// Returns a client that calls the app backend as the user of the login.
    ///
    /// - Throws: ``BackendAddressError`` if the stored address is invalid, or plain HTTP to another machine.
    func client(_ login: Login) throws(BackendAddressError) -> BackendClient {
        let address = try BackendAddress(parsing: login.backend)
        guard !address.isExposed || login.allowsPlainHTTP else {
            throw BackendAddressError(address: login.backend, reason: Self.exposed)
        }
        return client(address, token: login.token, authority: path(login.authority))
    }

    static let exposed = "is on another machine, and http would expose passwords and tokens on the network"

    func client(_ address: BackendAddress, token: String?, authority: String?) -> BackendClient {
        BackendClient(
            address,
            token: token,
            http: http,
            certificateAuthorities: authority,
            now: environment.now
        )
    }

    func path(_ authority: Login.Authority?) -> String? {
        switch authority {
        case .own: return file.authorityPath
        case .hub:
            let stored = directory.file(SubscriberAgent.authorityName)
            return hubAuthority ?? (HostFile.exists(stored) ? stored : nil)
        case nil: return nil
        }
    }

    // MARK: - Outcomes of calls

    func succeeded() {
        let wasAway = state.withLock { state in
            state.refusal = nil
            state.notBefore = nil
            state.backoff.reset()
            return exchange(&state.isAway, with: false)
        }
        if wasAway { environment.reporter.notice("the app backend is available again") }
    }

    func failed(_ error: BackendClientError, _ login: Login) {
        if error == .cancelled { return }
        if error.status == 401 { return refused(login) }
        if error.isTemporary { return away(error) }
        let former = state.withLock { state in
            state.notBefore = environment.elapsed() + Self.longWait
            return exchange(&state.refusal, with: "\(error)")
        }
        if former != "\(error)" {
            environment.reporter.warning("\(error); retrying in \(Self.longWait.components.seconds) s")
        }
    }

    /// Postpones the next call, because a step before it failed.
    func postpone() {
        state.withLock { state in
            state.notBefore = environment.elapsed() + state.backoff.next(random: environment.random())
        }
    }

    private func refused(_ login: Login) {
        guard state.withLock({ exchange(&$0.refused, with: login.token) }) != login.token else { return }
        environment.reporter.warning(
            "the login of '\(login.user)' is no longer valid; news of the categories continues"
        )
        environment.reporter.hint(.logIn)
    }

    private func away(_ error: BackendClientError) {
        let wasAway = state.withLock { state in
            let wait = state.backoff.next(retryAfter: error.retryAfter, random: environment.random())
            state.notBefore = environment.elapsed() + wait
            return exchange(&state.isAway, with: true)
        }
        guard !wasAway else { return }
        environment.reporter.warning("the app backend is not available: \(error); retrying until it is")
        if case .unreachable(_, let cause?) = error { environment.reporter.hint(.backendCertificate(cause)) }
    }
}
