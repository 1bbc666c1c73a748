import HubProtocol
import HubRouting
import PushServices

/// Reports whether a hub's credentials for push services can be used.
struct CredentialLookup {
    /// Time that push services have to answer, all together.
    static let patience = Duration.seconds(20)

    let hub: Hub

    /// Returns what the hub knows without asking a push service.
    func report() -> CredentialReport {
        CredentialReport(
            credentials: platforms.map { platform in
                let refusal = hub.push.refusal(platform)
                return entry(platform, isUsable: refusal == nil, refusal ?? hostRefusals(platform))
            }
        )
    }

    private var platforms: [Platform] { PushCredentials(hub.status.credentials, hub.configuration).platforms }

    /// Asks each push service whether it accepts the credential; devices get nothing.
    func test() async -> CredentialReport {
        let platforms = platforms
        var attempts: [Platform: @Sendable () async -> PushOutcome] = [:]
        for platform in platforms {
            if let service = hub.push[platform] { attempts[platform] = { await service.tryCredential() } }
        }
        let outcomes = await attempts.outcomes(within: Self.patience)
        return CredentialReport(
            credentials: platforms.map { platform in
                guard hub.push[platform] != nil else {
                    return entry(platform, isUsable: false, hub.push.refusal(platform))
                }
                let (isUsable, reason) = Self.verdict(outcomes[platform])
                return entry(platform, isUsable: isUsable, reason ?? hostRefusals(platform))
            }
        )
    }

    /// Largest number of hosts that a report names.
    private static let maximumHosts = 3

    /// Returns the hosts that refuse a credential which others accept; `nil` if there are none.
    private func hostRefusals(_ platform: Platform) -> String? {
        guard let refusals = hub.push.hostRefusals[platform] else { return nil }
        let named = refusals.sorted { $0.key < $1.key }.prefix(Self.maximumHosts).map { "\($0.key) (\($0.value))" }
        let rest = refusals.count > named.count ? " and \(refusals.count - named.count) more" : ""
        return "refused by \(named.joined(separator: ", "))\(rest)"
    }

    private func entry(_ platform: Platform, isUsable: Bool, _ reason: String?) -> CredentialReport.Credential {
        CredentialReport.Credential(
            platform: platform,
            isUsable: isUsable,
            reason: reason,
            expiresAt: hub.push[platform]?.credentialExpiresAt?.wholeSecond
        )
    }

    private static func verdict(_ outcome: PushOutcome?) -> (isUsable: Bool, reason: String?) {
        switch outcome {
        case nil: (false, "no answer within \(patience.components.seconds) seconds")
        case .accepted, .replacedHandle, .deadHandle: (true, nil)
        case .dropped(let reason), .badMessage(let reason), .tooLarge(let reason), .badRoute(let reason): (true, reason)
        case .unsendable(let reason): (false, reason)
        case .retry(_, let reason): (false, "cannot be tried now: \(reason)")
        case .throttled(_, _, let reason): (true, "used up for now: \(reason)")
        case .refusedCredential(let reason), .refusedSender(let reason): (false, "refused: \(reason)")
        }
    }
}
