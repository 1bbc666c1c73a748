package import HubProtocol
import HubRouting
import HubStore
import PushServices
package import WebPages

/// The news of some of a hub's categories at one moment.
package struct HubNews: Sendable {
    /// The newest stories and withdrawals, newest first, each in the version that readers are shown.
    package let storyVersions: [StoryVersion]
    /// The end of the log, at which a stream continues.
    package let position: StreamPosition
    /// The reason why messages after an earlier position may be missing; `nil` if none are.
    package let gap: String?
}

extension LocalHub {
    /// The hub's creation time, which distinguishes it from an earlier hub of its name; `nil` if it was deleted meanwhile.
    ///
    /// Throws a `DatabaseError`.
    package func createdAt() async throws -> Timestamp? {
        guard let hub = try? hub else { return nil }
        return try await hub.publicFeeds.createdAt(hub)
    }

    /// Installations whose ids have a prefix, in the order of their ids, after a given id; at most `limit`.
    ///
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func installations(
        prefix: String,
        after id: String?,
        limit: Int
    ) async throws -> (found: [Installation], next: String?) {
        let hub = try hub
        return try await hub.store.installations(hub: hub.record.id, prefix: prefix, after: id, limit: limit)
    }

    /// The state of the hub's delivery to browsers.
    package var browserDelivery: BrowserDelivery { (try? hub).map { BrowserKeys.delivery(of: $0) } ?? .absent }

    /// Reads the newest public news of some categories.
    ///
    /// `position` is the reader's position at the last visit. With a `language`, news without a text in it is left out.
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func news(
        of tags: [Tag],
        language: LanguageName?,
        since position: StreamPosition?
    ) async throws -> HubNews {
        let hub = try hub
        let (head, dropped) = (hub.status.head, hub.status.droppedThrough)
        let storyVersions = try await hub.publicFeeds.news(of: tags, language: language, in: hub)
        var gap: String?
        if let position {
            switch directory.epochs.resume(position.text, created: .start, top: head, droppedThrough: dropped) {
            case .resume: break
            case .gap(_, let reason, _), .strangeCursor(_, let reason, _): gap = reason
            }
        }
        return HubNews(
            storyVersions: storyVersions.filter { $0.sequence <= head },
            position: StreamPosition(epoch: directory.epochs.current, sequence: head),
            gap: gap
        )
    }

    /// The languages of the hub's categories, as reported by publishers in the last days, by folded category name.
    ///
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func languages() async throws -> [String: [LanguageName]] {
        let hub = try hub
        return try await hub.publicFeeds.languages(of: hub)
    }
}
