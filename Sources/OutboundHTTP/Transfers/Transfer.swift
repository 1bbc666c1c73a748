import CCurl
import Glibc
import NetworkAddresses
import Synchronization

/// One hop on its way: filled by the loop's thread, awaited by one task.
///
/// `@unchecked Sendable`: `shared` is guarded by its mutex; everything under *Confined to the loop's thread* is
/// touched there only.
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

    let plan: TransferPlan
    private let shared = Mutex(Shared())

    // MARK: Confined to the loop's thread

    var session: EasySession?

    /// When it must have ended; a stream may get one late.
    var deadline: ContinuousClock.Instant?

    /// Whether it counts as started in the worker's ``Admission``.
    var isAdmitted = false
    private(set) var failure: OutboundError?
    private(set) var refusedAddress: NetworkAddress?
    private(set) var hasOpenedSocket = false
    private(set) var hasHead = false

    /// When the peer last gave a sign of life; `nil` before there is a connection, and where no silence is too long.
    private(set) var lastActivity: ContinuousClock.Instant?
    private var headReader = ReplyHeadReader()
    private var isRedirect = false
    private var receivedBytes = 0

    init(_ plan: TransferPlan) {
        self.plan = plan
        self.deadline = plan.deadline
    }

    /// Bytes of a stream that wait for its reader before the peer is held back.
    static let maximumBufferedBytes = 262_144

    /// Bytes of a redirect's own body that are read so that the connection can be kept.
    static let maximumRedirectBodyBytes = 65_536
}

// MARK: - The awaiting task's side

extension Transfer {
    /// Suspends until the milestone or the end is reached.
    ///
    /// Returns at once when another task waits already.
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

    /// The whole reply, once it has ended.
    func reply() -> Result<(head: ReplyHead, body: [UInt8]), OutboundError> {
        shared.withLock { state in
            guard case .success = state.end, let head = state.head else {
                return .failure(state.failure ?? .badRequest(reason: "two tasks await one reply"))
            }
            return .success((head, state.body))
        }
    }

    /// What has arrived since the last call, and whether the peer is held back and may now go on.
    ///
    /// - Returns: `nil` bytes at the end of the body.
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
            case nil: .failure(.badRequest(reason: "two tasks read one stream"))
            }
        }
    }

    /// Ends the transfer for good; later ends are ignored.
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

    /// - Returns: Whether to go on.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        noteActivity()
        switch headReader.read(line) {
        case .more, .ignored: return true
        case .refused(let reason):
            failure = .malformedReply(host: plan.address.displayHost, reason: reason)
            return false
        case .complete(let head):
            hasHead = true
            isRedirect = plan.followsRedirects && RedirectTrail.isRedirect(head)
            if case .whole(let limit) = plan.delivery, !isRedirect, plan.method != "HEAD", head.status != 304,
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
        noteActivity()
        if isRedirect {
            receivedBytes += bytes.count
            return receivedBytes <= Self.maximumRedirectBodyBytes ? .taken : .refused
        }
        switch plan.delivery {
        case .whole(let limit):
            receivedBytes += bytes.count
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

    /// A redirect with an overlong body has told all it had to tell.
    var isSettledRedirect: Bool { isRedirect && failure == nil }

    /// Opens the socket for an address about to be connected, or refuses it.
    ///
    /// A proxy is the operator's own choice; what lies behind it was judged by name (``TransferPlan``).
    func openSocket(_ address: UnsafePointer<curl_sockaddr>, target: NetworkAddress?) -> curl_socket_t {
        guard plan.proxy != nil || plan.addresses.allows(target) else {
            refusedAddress = target
            return ccurl_no_socket()
        }
        let descriptor = ccurl_open_socket(address)
        if descriptor >= 0 { hasOpenedSocket = true }
        return descriptor
    }

    /// Judges the connection that is about to carry the request, kept ones included.
    func acceptConnection(to remote: String) -> Bool {
        noteActivity()
        if case .any = plan.addresses { return true }
        let address = NetworkAddress(remote)
        guard plan.proxy != nil || plan.addresses.allows(address) else {
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
    /// Here and not where the reader takes the bytes: until libcurl reads again, the silence is ours.
    func resume() {
        noteActivity()
        update { $0.isPaused = false }
    }

    func noteActivity() {
        if plan.idleTimeout != nil { lastActivity = .now }
    }
}

extension AddressPolicy {
    /// An address that cannot be read is public to nobody.
    fileprivate func allows(_ address: NetworkAddress?) -> Bool {
        if let address { return allows(address) }
        return switch self {
        case .any: true
        case .publicOnly, .publicAnd: false
        }
    }
}
