import Foundation
import HubProtocol
import HubRouting

/// What an installation or registration costs a hub: an estimate of the bytes that it holds in memory and on disk.
///
/// What was last written with Listen is charged, so that a quota bounds it; what Manage has written costs nothing.
enum Charge {
    /// A row, its places in indexes, and its tags.
    private static let registration = 256
    /// The same, and the entry that streams are served from.
    private static let stream = 1_024
    /// A record in memory is several times the size of its JSON.
    private static let streamFactor = 4
    /// A term of a template, compiled; its text may have no more than five characters.
    private static let term = 64

    static func of(_ installation: Installation, record: Data, isCharged: Bool) -> Int {
        guard isCharged else { return 0 }
        guard installation.platform == .stream else {
            return registration * installation.parts.count + 2 * record.count
        }
        // Each term but a text in quotes has a parenthesis.
        let terms = installation.templates.values.reduce(0) { sum, template in
            sum + template.body.utf8.count { $0 == UInt8(ascii: "(") }
        }
        return stream + streamFactor * record.count + term * terms
    }

    static func ofRegistration(tags: String, record: Data, isCharged: Bool) -> Int {
        isCharged ? registration + tags.utf8.count + record.count : 0
    }
}
