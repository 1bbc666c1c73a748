import Formats

/// Reads a request's JSON body, with the errors that all requests have in common.
enum JSONDocument {
    static func read(
        _ bytes: [UInt8],
        maximumBytes: Int,
        called name: String,
        allowsRepeats: Bool = false
    ) throws(ProtocolError) -> JSONNode {
        guard bytes.count <= maximumBytes else { throw .tooLarge("\(name) is larger than \(maximumBytes) bytes") }
        do {
            return try JSONReader.read(bytes, allowsRepeats: allowsRepeats)
        } catch {
            throw .badRequest("\(name) is not valid JSON: \(error.reason), at byte \(error.offset)")
        }
    }

    static func object(
        _ bytes: [UInt8],
        maximumBytes: Int,
        called name: String,
        allowsRepeats: Bool = false
    ) throws(ProtocolError) -> [JSONMember] {
        let node = try read(bytes, maximumBytes: maximumBytes, called: name, allowsRepeats: allowsRepeats)
        guard case .object(let members) = node.content else {
            throw .badRequest("\(name) is \(node.kind), not a JSON object")
        }
        return members
    }
}

/// The problems of one document, reported together so that its author can correct all of them at once.
struct ProblemList {
    /// Maximum number of problems that are described; a hostile document may have thousands.
    static let maximumShown = 20

    private(set) var problems: [String] = []
    private var hidden = 0

    var isEmpty: Bool { problems.isEmpty }

    mutating func add(_ problem: String) {
        if problems.count < Self.maximumShown { problems.append(problem) } else { hidden += 1 }
    }

    func throwIfAny() throws(ProtocolError) {
        guard !problems.isEmpty else { return }
        let more = hidden > 0 ? "; and \(hidden) more" : ""
        throw .badRequest(problems.joined(separator: "; ") + more)
    }
}
