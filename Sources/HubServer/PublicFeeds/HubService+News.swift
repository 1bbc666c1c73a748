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

extension HubService {
    /// The name of a hub with its original spelling; `nil` if the hub is unknown or disabled.
    package func served(_ name: HubName) -> HubName? {
        guard let hub = try? directory.hub(named: name.text), !hub.status.isDisabled else { return nil }
        return hub.record.name
    }

    /// The creation time of a hub, which distinguishes it from an earlier hub of its name; `nil` if it was deleted
    /// meanwhile.
    ///
    /// Throws a `DatabaseError`.
    package func createdAt(_ name: HubName) async throws -> Timestamp? {
        guard let hub = try? directory.hub(named: name.text) else { return nil }
        return try await hub.publicFeeds.createdAt(hub)
    }

    /// Installations whose ids have a prefix, in the order of their ids, after a given id; at most `limit`.
    ///
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func installations(
        in name: HubName,
        prefix: String,
        after id: String?,
        limit: Int
    ) async throws -> (found: [Installation], next: String?) {
        let hub = try directory.hub(named: name.text)
        return try await hub.store.installations(hub: hub.record.id, prefix: prefix, after: id, limit: limit)
    }

    /// The names of all hubs, disabled or not.
    package var hubNames: [HubName] { directory.all.map(\.hub.record.name) }

    /// True if a hub exists, disabled or not.
    package func has(_ name: HubName) -> Bool { (try? directory.hub(named: name.text)) != nil }

    /// The state of a hub's delivery to browsers.
    package func browserDelivery(_ name: HubName) -> BrowserDelivery {
        guard let hub = try? directory.hub(named: name.text) else { return .absent }
        return BrowserKeys.delivery(of: hub)
    }

    /// Reads the newest public news of some categories.
    ///
    /// `position` is the reader's position at the last visit. With a `language`, news without a text in it is left out.
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func news(
        of tags: [Tag],
        language: LanguageName?,
        in name: HubName,
        since position: StreamPosition?
    ) async throws -> HubNews {
        let hub = try directory.hub(named: name.text)
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

    /// The languages of a hub's categories, as reported by publishers in the last days, by folded category name.
    ///
    /// Throws a `DatabaseError`, or ``HubProtocol/ProtocolError`` 404 if the hub is gone.
    package func languages(in name: HubName) async throws -> [String: [LanguageName]] {
        let hub = try directory.hub(named: name.text)
        return try await hub.publicFeeds.languages(of: hub)
    }
}
