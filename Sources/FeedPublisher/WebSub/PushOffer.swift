internal import FeedLists
internal import Feeds

/// The hub that a feed names for its updates, and the feed's name at that hub.
///
/// Source: WebSub §4.
struct PushOffer: Sendable, Equatable {
    let hub: String
    /// The feed's own address exactly as the feed writes it; often not the address that is polled.
    let topic: String
}

extension PushOffer {
    /// Reads the offer in the headers of a reply, or else in its document; one of several hubs is enough.
    ///
    /// The result is `nil` if no hub can be used, or the feed does not name its own address.
    ///
    /// - Parameters:
    ///   - fields: The `Link` fields of the reply.
    ///   - url: The address that replied.
    ///   - feed: The document, if there is one.
    init?(fields: [String], url: String, feed: Feed?) {
        let links = LinkField.links(fields, base: url)
        func targets(_ relation: String) -> [String] {
            links.filter { $0.relations.contains(relation) }.map(\.target)
        }
        let named = targets("hub")
        let hubs = (named.isEmpty ? feed?.hubs ?? [] : named).filter(Self.isUsable)
        // A secret can be agreed on only over TLS.
        guard let hub = hubs.first(where: { $0.lowercased().hasPrefix("https:") }) ?? hubs.first,
            let topic = targets("self").first ?? feed?.selfURL, Self.isUsable(topic)
        else { return nil }
        self.init(hub: hub, topic: topic)
    }

    private static func isUsable(_ address: String) -> Bool {
        (try? FeedAddress(parsing: address, allowsFile: false)) != nil
    }
}

/// The hub that a reply names for its feed.
enum PushDiscovery: Sendable, Equatable {
    /// Unknown: there was no document, and no header names a hub.
    case unannounced
    case none
    case offer(PushOffer)
}
