import HubProtocol

/// A message of a service that sends none.
enum NoPush: PreparedPush {
    var lifetime: PushLifetime { switch self {} }
    var collapseKey: String? { switch self {} }
}

/// A push service for which the hub keeps registrations and does not deliver.
struct RetiredService: PushService {
    private let reason: String

    init(_ credential: PlatformCredential) {
        reason =
            switch credential.kind {
            case .mpns: "this hub does not deliver to MPNS, which Microsoft has withdrawn"
            case .adm: "this hub does not deliver to ADM, Amazon Device Messaging"
            case .baidu: "this hub does not deliver to Baidu Cloud Push"
            default: "this hub does not deliver with a \(credential.kind.element)"
            }
    }

    var concurrency: Int { 1 }

    func prepare(_ message: PushMessage) throws(BadPushMessage) -> NoPush { throw BadPushMessage(reason) }

    func send(_ push: NoPush, to target: PushTarget) async -> PushOutcome {}

    func tryCredential() async -> PushOutcome { .badRoute(reason) }

    func shutdown() async {}
}
