import Foundation
import HubProtocol

/// What an installation or registration costs a hub: an estimate of the bytes that it holds in memory and on disk.
///
/// What was last written with Listen is charged, so that a quota bounds it; what Manage has written costs nothing.
enum Charge {
    /// A row, its places in indexes, and its tags.
    private static let registration = 256
    /// The same, and the entry that streams are served from.
    private static let stream = 1_024
    /// A record in memory is several times the size of its JSON: templates are held compiled.
    private static let streamFactor = 4

    static func of(_ installation: Installation, record: Data, isCharged: Bool) -> Int {
        guard isCharged else { return 0 }
        return installation.platform == .stream
            ? stream + streamFactor * record.count : registration * installation.parts.count + 2 * record.count
    }

    static func ofRegistration(tags: String, record: Data, isCharged: Bool) -> Int {
        isCharged ? registration + tags.utf8.count + record.count : 0
    }
}
