import CCurl
import Glibc
import NetworkAddresses
import Synchronization

/// One hop in progress: the loop's thread fills it, and one task waits for it.
///
/// `@unchecked Sendable`: a mutex guards `shared`; only the loop's thread uses the properties under *Confined to the
/// loop's thread*.
final class Transfer: @unchecked Sendable {
    enum Milestone {
        case head
        case bytes
        case end
    }

    struct Shared {
        var head: ReplyHead?
        var body: [UInt8] = []
        var isPaused = false
        var end: Result<Void, OutboundError>?
        var waiter: (milestone: Milestone, continuation: CheckedContinuation<Void, Never>)?

        func has(_ milestone: Milestone) -> Bool {
            if end != nil { return true }
            return switch milestone {
            case .head: head != nil
            case .bytes: !body.isEmpty
            case .end: false
            }
        }
    }

    /// The place of a request in its batch, and its own path and headers.
    struct Part {
        let batch: TransferBatch
        let place: Int
        let target: OutboundTarget
    }

    let plan: TransferPlan
    /// `nil` if a task waits for the result.
    let part: Part?
    private let shared = Mutex(Shared())

    // MARK: Confined to the loop's thread

    var session: EasySession?

    /// Time at which the transfer is ended; a stream can get one later.
    var deadline: ContinuousClock.Instant?

    /// True if the worker's ``Admission`` counts the transfer as started.
    var isAdmitted = false
    private(set) var failure: OutboundError?
    private(set) var refusedAddress: NetworkAddress?
    private(set) var hasOpenedSocket = false
    private(set) var hasHead = false
    /// True if the host has chosen HTTP/2 in the TLS handshake; only known for a transfer that opens a connection.
    private(set) var hasChosenHTTP2 = false

    /// Time of the peer's last activity; `nil` before there is a connection, and without an idle timeout.
    private(set) var lastActivity: ContinuousClock.Instant?
    private var headReader = ReplyHeadReader()
    private var isRedirect = false
    private var receivedBytes = 0
    /// True if the reply is complete although its body was not read to its end.
    private var hasStart = false
    /// The connection that carries the request.
    private(set) var connection: LiveConnections.Name?
    /// Notes what arrives on connections; `nil` for a transfer that only opens one.
    var live: LiveConnections?
    /// Time at which the request was given to libcurl.
    var beganAt: ContinuousClock.Instant?

    init(_ plan: TransferPlan, _ part: Part? = nil) {
        self.plan = plan
        self.part = part
        self.deadline = plan.deadline
    }

    var url: String { part.map { plan.address.text + $0.target.path } ?? plan.address.text }

    /// Bytes of a stream that are buffered before reading from the peer stops.
    static let maximumBufferedBytes = 262_144

    /// Bytes of a redirect's body that are read so that the connection can be kept.
    static let maximumRedirectBodyBytes = 65_536
}

// MARK: - The awaiting task's side

extension Transfer {
    /// Suspends until the milestone or the end is reached.
    ///
    /// Returns at once if another task is already waiting.
    func wait(until milestone: Milestone) async {
        await withCheckedContinuation { continuation in
            let isReady = shared.withLock { state in
                if state.has(milestone) || state.waiter != nil { return true }
                state.waiter = (milestone, continuation)
                return false
            }
            if isReady { continuation.resume() }
        }
    }

    func head() -> Result<ReplyHead, OutboundError> {
        shared.withLock { state in
            if let head = state.head, !state.isCancelled { return .success(head) }
            return .failure(state.failure ?? .badRequest(reason: "two tasks await one reply"))
        }
    }

    /// Returns the complete reply after the end of the transfer.
    func reply() -> Result<(head: ReplyHead, body: [UInt8]), OutboundError> {
        shared.withLock { state in
            guard case .success = state.end, let head = state.head else {
                return .failure(state.failure ?? .badRequest(reason: "two tasks await one reply"))
            }
            return .success((head, state.body))
        }
    }

    /// Takes the bytes that have arrived since the last call; `isPaused` is true if reading from the peer has stopped.
    ///
    /// - Returns: `nil` instead of bytes at the end of the body.
    func takeBytes() -> Result<(bytes: [UInt8]?, isPaused: Bool), OutboundError> {
        shared.withLock { state in
            if state.isCancelled { return .failure(.cancelled) }
            if !state.body.isEmpty {
                let bytes = state.body
                state.body = []
                return .success((bytes, state.isPaused))
            }
            return switch state.end {
            case .success: .success((nil, false))
            case .failure(let error): .failure(error)
            case nil: .failure(.badRequest(reason: "two tasks read the same stream"))
            }
        }
    }

    /// Ends the transfer; later calls have no effect.
    func finish(_ error: OutboundError?) {
        update { state in
            if state.end == nil { state.end = error.map { .failure($0) } ?? .success(()) }
        }
    }

    var isFinished: Bool { shared.withLock { $0.end != nil } }
    var isPaused: Bool { shared.withLock { $0.isPaused } }

    private func update(_ body: (inout Shared) -> Void) {
        let continuation = shared.withLock { state -> CheckedContinuation<Void, Never>? in
            body(&state)
            guard let waiter = state.waiter, state.has(waiter.milestone) else { return nil }
            state.waiter = nil
            return waiter.continuation
        }
        continuation?.resume()
    }
}

extension Transfer.Shared {
    fileprivate var failure: OutboundError? {
        if case .failure(let error) = end { error } else { nil }
    }

    fileprivate var isCancelled: Bool { failure == .cancelled }
}

// MARK: - libcurl's side, on the loop's thread

extension Transfer {
    enum WriteVerdict {
        case taken
        case paused
        case refused
    }

    /// - Returns: False to end the transfer.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        noteArrival()
        switch headReader.read(line) {
        case .more, .ignored: return true
        case .refused(let reason):
            failure = .malformedReply(host: plan.address.displayHost, reason: reason)
            return false
        case .complete(let head):
            hasHead = true
            isRedirect = plan.followsRedirects && RedirectTrail.isRedirect(head)
            if case .whole(let limit, false) = plan.delivery, !isRedirect, plan.options.method != "HEAD",
                head.status != 304,
                let length = head.headers["Content-Length"].flatMap({ Int($0) }), length > limit
            {
                failure = .tooLarge(host: plan.address.displayHost, limit: limit)
                return false
            }
            update { $0.head = head }
            return true
        }
    }

    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> WriteVerdict {
        noteArrival()
        if isRedirect {
            receivedBytes += bytes.count
            return receivedBytes <= Self.maximumRedirectBodyBytes ? .taken : .refused
        }
        switch plan.delivery {
        case .whole(let limit, let keepsStart):
            receivedBytes += bytes.count
            if keepsStart, receivedBytes > limit {
                hasStart = true
                return .refused
            }
            guard receivedBytes <= limit, session?.isExpandingBeyondReason(receivedBytes) != true else {
                failure = .tooLarge(host: plan.address.displayHost, limit: limit)
                return .refused
            }
            update { $0.body.append(contentsOf: bytes) }
            return .taken
        case .stream:
            var verdict = WriteVerdict.taken
            update { state in
                if !state.body.isEmpty, state.body.count + bytes.count > Self.maximumBufferedBytes {
                    state.isPaused = true
                    verdict = .paused
                } else {
                    state.body.append(contentsOf: bytes)
                }
            }
            return verdict
        }
    }

    /// True for a redirect, of which only the header matters, and for a reply whose beginning is enough: a body that is
    /// too long is not an error.
    var isSettled: Bool { (isRedirect || hasStart) && failure == nil }

    /// Opens the socket for an address, or refuses the address.
    ///
    /// The operator chose the proxy, so its address is allowed; the host behind it was checked by name.
    func openSocket(_ address: UnsafePointer<curl_sockaddr>, target: NetworkAddress?) -> curl_socket_t {
        guard plan.options.proxy != nil || plan.addresses.allows(target) else {
            refusedAddress = target
            return ccurl_no_socket()
        }
        let descriptor = ccurl_open_socket(address)
        guard descriptor >= 0 else { return descriptor }
        hasOpenedSocket = true
        if !plan.options.isStream { LiveConnections.watch(descriptor, patience: plan.lossPatience) }
        return descriptor
    }

    /// Checks the connection that is about to carry the request, which may be an older one.
    func acceptConnection(
        to remote: @autoclosure () -> String,
        _ name: @autoclosure () -> LiveConnections.Name
    ) -> Bool {
        noteActivity()
        if live != nil { connection = name() } else { hasChosenHTTP2 = session?.hasChosenHTTP2 == true }
        if case .any = plan.addresses { return true }
        let address = NetworkAddress(remote())
        guard plan.options.proxy != nil || plan.addresses.allows(address) else {
            failure = .refusedAddress(
                host: plan.address.displayHost,
                address: address?.description ?? "an unknown address"
            )
            return false
        }
        return true
    }

    /// Ends a pause.
    ///
    /// The idle time starts again here, since the peer is not responsible for the silence before libcurl reads again.
    func resume() {
        noteActivity()
        update { $0.isPaused = false }
    }

    func noteActivity() {
        if plan.idleTimeout != nil { lastActivity = .now }
    }

    /// Notes that bytes have arrived for the transfer.
    private func noteArrival() {
        noteActivity()
        if let connection { live?.noteArrival(connection) }
    }
}

extension AddressPolicy {
    /// Treats an address that cannot be read as not public.
    fileprivate func allows(_ address: NetworkAddress?) -> Bool {
        if let address { return allows(address) }
        return switch self {
        case .any: true
        case .publicOnly, .publicAnd: false
        }
    }
}
