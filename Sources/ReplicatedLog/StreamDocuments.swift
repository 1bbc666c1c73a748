import Formats
import Foundation

/// The JSON documents of the engine's stream interface.
///
/// Source: https://docs.nats.io/reference/reference-protocols/nats_api_reference
struct StreamConfiguration: Codable {
    struct Republish: Codable {
        let src: String
        let dest: String
        let headersOnly: Bool?

        enum CodingKeys: String, CodingKey {
            case src, dest
            case headersOnly = "headers_only"
        }
    }

    let name: String
    var description: String?
    var subjects: [String]?
    let retention: String
    let storage: String
    let discard: String
    let replicas: Int
    let maximumBytes: Int64
    /// In nanoseconds.
    let maximumAge: Int64
    /// In nanoseconds.
    let duplicateWindow: Int64?
    let deniesDelete: Bool?
    let deniesPurge: Bool?
    let allowsDirect: Bool?
    var republish: Republish?
    /// Kept by NATS 2.10 and later.
    let metadata: [String: String]?

    enum CodingKeys: String, CodingKey {
        case name, description, subjects, retention, storage, discard, republish, metadata
        case replicas = "num_replicas"
        case maximumBytes = "max_bytes"
        case maximumAge = "max_age"
        case duplicateWindow = "duplicate_window"
        case deniesDelete = "deny_delete"
        case deniesPurge = "deny_purge"
        case allowsDirect = "allow_direct"
    }
}

/// The answer to `STREAM.INFO` and `STREAM.CREATE`.
struct StreamInfo: Decodable {
    struct State: Decodable {
        let first: UInt64
        let last: UInt64

        enum CodingKeys: String, CodingKey {
            case first = "first_seq"
            case last = "last_seq"
        }
    }

    struct Peer: Decodable {
        let name: String
        let isCurrent: Bool
        let isOffline: Bool?
        /// Nanoseconds since the leader last heard from it.
        let silence: Int64

        enum CodingKeys: String, CodingKey {
            case name
            case isCurrent = "current"
            case isOffline = "offline"
            case silence = "active"
        }
    }

    struct Cluster: Decodable {
        let leader: String?
        let replicas: [Peer]?
    }

    let config: StreamConfiguration
    let state: State
    let cluster: Cluster?
    /// The time at which the leader answered.
    let time: String?

    enum CodingKeys: String, CodingKey {
        case config, state, cluster
        case time = "ts"
    }

    /// The names of the servers that keep the log, except the leader, and lack entries or do not answer.
    var late: [String] {
        (cluster?.replicas ?? []).filter { !$0.isCurrent || $0.isOffline == true }.map(\.name)
    }

    /// Number of servers that have every entry, with the leader; several servers have no leader while they elect it.
    var current: Int {
        let leaders = (cluster?.leader ?? "").isEmpty && config.replicas > 1 ? 0 : 1
        return leaders + (cluster?.replicas ?? []).count - late.count
    }
}

/// The answer to a published entry.
struct Acknowledgement: Decodable {
    let stream: String
    let number: UInt64

    enum CodingKeys: String, CodingKey {
        case stream
        case number = "seq"
    }
}

/// An error that the engine answers with.
package struct EngineError: Error, Decodable, Equatable {
    let code: Int
    let number: Int?
    let description: String?

    private enum CodingKeys: String, CodingKey {
        case code, description
        case number = "err_code"
    }

    /// Numbers in the engine's list of errors.
    ///
    /// Source: https://github.com/nats-io/nats-server/blob/main/server/errors.json
    enum Number {
        static let noPeers = 10_005
        static let noMessage = 10_037
        static let noJetStream = [10_076, 10_039]
        static let exists = 10_058
        static let noStream = 10_059
        static let wrongLastSequence = [10_071, 10_164]
        static let notClustered = 10_074
        static let storeFailed = 10_077
        /// The same entry was sent before, and is not stored yet.
        static let duplicateInProgress = 10_158
        static let insufficientResources = 10_023
        static let storageFull = [10_047, 10_028]
        static let accountFull = 10_002
        static let tooLarge = [10_054, 10_097]
        static let streamLimits = 10_053
    }

    func isOne(of numbers: [Int]) -> Bool { number.map(numbers.contains) ?? false }

    /// True if the same request may succeed in a moment: while a leader is elected, a server starts, or a leader whose
    /// disk is full gives way to another.
    var isTemporary: Bool {
        if isOne(of: Number.noJetStream) { return false }
        return code == 503 || code == 408 || code == 429 || isOne(of: [Number.noPeers, 10_007, 10_009])
            || number == Number.duplicateInProgress
    }

    /// Text for operators.
    var reason: String {
        let text = description ?? "error \(code)"
        if isOne(of: Number.storageFull + [Number.insufficientResources, Number.storeFailed, Number.streamLimits]) {
            return "their storage is full, or the log has reached one of their limits (\(text))"
        }
        if number == Number.accountFull { return "the limits of this account are reached (\(text))" }
        if isOne(of: Number.tooLarge) { return "an entry is larger than they accept (\(text))" }
        if isOne(of: Number.noJetStream) { return "they have no JetStream for this account: switch it on (\(text))" }
        if number == Number.notClustered {
            return "the server is not in a cluster, and the log needs several replicas (\(text))"
        }
        return text
    }
}

/// An answer of the engine: a document, or an error.
struct EngineAnswer<Document: Decodable>: Decodable {
    let document: Document

    private enum CodingKeys: String, CodingKey {
        case error
    }

    /// - Throws: ``EngineError`` if the engine answers with one.
    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let error = try members.decodeIfPresent(EngineError.self, forKey: .error) { throw error }
        document = try Document(from: decoder)
    }

    /// - Throws: ``EngineError``, or a `DecodingError`.
    static func read(_ data: [UInt8]) throws -> Document {
        try JSONReader.decode(Self.self, from: data).document
    }
}
