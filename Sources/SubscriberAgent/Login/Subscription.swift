import HubProtocol
import Synchronization

/// The hub's record of an agent that listens.
package struct Subscription: Sendable, Equatable {
    /// Empty for broadcasts only.
    package let categories: [String]
    package let template: TemplateChoice
    /// The user whose notifications are also received.
    package let user: String?
}

/// Passes a subscription on if it differs from the last one.
final class SubscriptionReport: Sendable {
    private let last = Mutex<Subscription?>(nil)
    private let onSubscribed: @Sendable (Subscription) -> Void

    init(_ onSubscribed: @escaping @Sendable (Subscription) -> Void) { self.onSubscribed = onSubscribed }

    func note(_ record: AgentRecord) {
        guard let categories = record.registered else { return }
        let now = Subscription(categories: categories, template: record.template, user: record.registeredUser)
        if last.withLock({ exchange(&$0, with: now) }) != now { onSubscribed(now) }
    }
}
