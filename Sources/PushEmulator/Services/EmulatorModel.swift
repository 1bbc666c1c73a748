import HubProtocol
import Synchronization

/// The answer to a request: a reply, its delay, and the delivery to a device.
struct EmulatorAnswer: Sendable {
    let reply: EmulatorReply
    /// Delay before the reply.
    private(set) var delay = Duration.zero
    /// True if the connection ends with a GOAWAY instead of a reply.
    let isGoingAway: Bool
    /// The delivery to put into the inbox when the reply is sent.
    var delivery: Delivery?

    struct Delivery: Sendable {
        let device: EmulatedDevice
        let content: EmulatedDelivery
    }

    /// Creates the answer with a reply; `fault` is one that does not change the reply itself.
    init(_ reply: EmulatorReply, fault: PushFault.Effect? = nil) {
        self.reply = reply
        isGoingAway = fault == .goAway
        if case .slow(let delay)? = fault { self.delay = delay }
    }
}

/// The state of the emulator: faults, tokens and inboxes.
final class EmulatorModel: Sendable {
    private struct State {
        var faults = FaultScript()
        var tokens = IssuedTokens()
        var inbox: Inbox
    }

    let browsers: EmulatedBrowserKeys
    private let state: Mutex<State>

    init(browsers: EmulatedBrowserKeys, inbox: InboxLimits) {
        self.browsers = browsers
        state = Mutex(State(inbox: Inbox(limits: inbox)))
    }

    func answer(_ request: EmulatorRequest) -> EmulatorAnswer {
        switch EmulatorRoute(path: request.path) {
        case .push(let service): push(request, to: answers(of: service))
        case .tokens(let issuer): tokens(request, issuer)
        // A different interface of Apple's, or a mistake.
        case nil where request.path.hasPrefix("/3/") || request.path.hasPrefix("/4/"):
            EmulatorAnswer(ApnsAnswers.reply(404, "BadPath", request))
        case nil: EmulatorAnswer(EmulatorReply(404))
        }
    }

    func deliver(_ delivery: EmulatorAnswer.Delivery) {
        state.withLock { $0.inbox.add(delivery.content, for: delivery.device) }
    }

    func deliveries(to devices: [EmulatedDevice]) -> [EmulatedDelivery] {
        state.withLock { $0.inbox.deliveries(to: devices) }
    }

    func clearInbox() { state.withLock { $0.inbox.clear() } }

    func revokeTokens() { state.withLock { $0.tokens.revokeAll() } }

    func set(_ fault: PushFault?, for scope: FaultScript.Scope) {
        state.withLock { $0.faults.set(fault, for: scope) }
    }

    private func answers(of service: EmulatedService) -> any PushAnswers {
        switch service {
        case .apns: ApnsAnswers()
        case .fcm: FcmAnswers { [self] in isValid($0, for: .google, at: $1) }
        case .wns: WnsAnswers { [self] in isValid($0, for: .microsoft, at: $1) }
        case .webPush: WebPushAnswers(browsers: browsers)
        }
    }

    private func isValid(_ token: Substring, for audience: IssuedTokens.Audience, at now: Timestamp) -> Bool {
        let tokens = state.withLock { $0.tokens }
        return tokens.isValid(token, for: audience, at: now)
    }

    private func push(_ request: EmulatorRequest, to answers: any PushAnswers) -> EmulatorAnswer {
        let push: AcceptedPush
        do throws(EmulatorReply) {
            push = try answers.check(request)
        } catch {
            return EmulatorAnswer(error)
        }
        guard let device = push.device else { return EmulatorAnswer(push.reply) }
        let fault = state.withLock { $0.faults.take(for: device) }
        if let fault, let reply = answers.reply(to: push, request, fault) { return EmulatorAnswer(reply) }
        var answer = EmulatorAnswer(push.reply, fault: fault?.effect)
        guard !answer.isGoingAway else { return answer }
        answer.delivery = EmulatorAnswer.Delivery(
            device: device,
            content: EmulatedDelivery(
                sequence: 0,
                service: device.service,
                handle: device.handle(origin: request.connection.origin),
                receivedAt: request.receivedAt,
                messageID: push.messageID,
                headers: request.headers.map(\.withoutProof),
                body: request.body,
                plaintext: push.plaintext,
                collapseKey: push.collapseKey
            )
        )
        return answer
    }

    private func tokens(_ request: EmulatorRequest, _ issuer: TokenAnswers.Issuer) -> EmulatorAnswer {
        let answers = TokenAnswers { [self] audience, lifetime, now in
            state.withLock { $0.tokens }.issue(for: audience, lifetime: lifetime, at: now)
        }
        let fault = state.withLock { $0.faults.take(for: .tokens(issuer.service)) }
        if let fault, let reply = answers.reply(fault) { return EmulatorAnswer(reply) }
        return EmulatorAnswer(answers.answer(request, issuer), fault: fault)
    }
}

extension HeaderLine {
    /// The header without secrets, which are the signature of a token or an opaque token.
    fileprivate var withoutProof: HeaderLine {
        guard name == "authorization" || name == "cookie" || name == "proxy-authorization" else { return self }
        guard name == "authorization", let space = value.firstIndex(of: " ") else { return HeaderLine(name, "…") }
        let scheme = value[..<space]
        let fields = value[space...].split(separator: ",").map { Self.hidden($0.drop { $0 == " " }) }
        return HeaderLine(name, "\(scheme) \(fields.joined(separator: ", "))")
    }

    private static func hidden(_ field: Substring) -> String {
        if field.hasPrefix("k=") { return String(field) }
        let parts = field.split(separator: ".", omittingEmptySubsequences: false)
        // Header and claims of a signed token; the emulator's own access tokens have four parts.
        guard parts.count == 3 else { return field.hasPrefix("t=") ? "t=…" : "…" }
        return "\(parts[0]).\(parts[1]).…"
    }
}
