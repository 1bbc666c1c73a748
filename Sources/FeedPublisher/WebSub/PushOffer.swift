internal import FeedLists
internal import Feeds

/// The hub that a feed says its news is pushed from, and the name by which the hub knows the feed.
///
/// Source: WebSub §4.
struct PushOffer: Sendable, Equatable {
    let hub: String
    /// The feed's own address for itself, to the letter; often not the one it is asked for at.
    let topic: String
}

extension PushOffer {
    /// Reads the offer of an answer, else that of its document; of several hubs one is enough.
    ///
    /// `nil` when there is no hub that can be used, or the feed does not name itself.
    ///
    /// - Parameters:
    ///   - fields: The `Link` fields of the answer.
    ///   - url: Who answered.
    ///   - feed: The document, if one came.
    init?(fields: [String], url: String, feed: Feed?) {
        let links = LinkField.links(fields, base: url)
        func targets(_ relation: String) -> [String] {
            links.filter { $0.relations.contains(relation) }.map(\.target)
        }
        let named = targets("hub")
        let hubs = (named.isEmpty ? feed?.hubs ?? [] : named).filter(Self.isUsable)
        // Only over TLS a secret can be agreed on.
        guard let hub = hubs.first(where: { $0.lowercased().hasPrefix("https:") }) ?? hubs.first,
            let topic = targets("self").first ?? feed?.selfURL, Self.isUsable(topic)
        else { return nil }
        self.init(hub: hub, topic: topic)
    }

    private static func isUsable(_ address: String) -> Bool {
        (try? FeedAddress(parsing: address, allowsFile: false)) != nil
    }
}

/// The hub that an answer names for its feed.
enum PushDiscovery: Sendable, Equatable {
    /// Nothing: there was no document, and no header that says it.
    case untold
    case none
    case offer(PushOffer)
}
