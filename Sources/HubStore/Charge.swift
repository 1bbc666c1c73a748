import Foundation
import HubProtocol
import HubRouting

/// Estimates the cost of an installation or registration to a hub: the bytes that it takes in memory and on disk.
///
/// Only records last written with Listen are charged, so that a quota bounds them. Records written with Manage cost
/// nothing.
enum Charge {
    /// Bytes of a row, its index entries and its tags.
    private static let registration = 256
    /// Bytes of a row, its index entries and tags, and the entry that streams are served from.
    private static let stream = 1_024
    /// A record in memory is several times the size of its JSON.
    private static let streamFactor = 4
    /// Bytes of a compiled template term; its text may have no more than five characters.
    private static let term = 64

    static func of(_ installation: Installation, record: Data, writer: ListenWriter?) -> Int {
        guard writer != nil else { return 0 }
        guard installation.platform == .stream else {
            return registration * installation.parts.count + 2 * record.count
        }
        // Each term except a quoted text has a parenthesis.
        let terms = installation.templates.values.reduce(0) { sum, template in
            sum + template.body.utf8.count { $0 == UInt8(ascii: "(") }
        }
        return stream + streamFactor * record.count + term * terms
    }

    static func ofRegistration(tags: String, record: Data, writer: ListenWriter?) -> Int {
        writer != nil ? registration + tags.utf8.count + record.count : 0
    }
}
