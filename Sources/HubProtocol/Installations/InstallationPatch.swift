import Formats

/// A partial update of an installation: all of its operations, or none.
///
/// Source: protocol §4.4.
package struct InstallationPatch: Sendable, Equatable {
    /// Maximum number of operations in one request.
    package static let maximumOperations = 200

    let changes: [InstallationChange]

    /// Reads the array of operations.
    ///
    /// Values may be JSON, or JSON as text inside a string, which every client sends.
    ///
    /// - Throws: ``ProtocolError`` 400 with every invalid operation, 413 above the limit of a request.
    package init(json: [UInt8]) throws(ProtocolError) {
        let root = try JSONDocument.read(json, maximumBytes: Installation.maximumBytes, called: "the patch")
        guard case .array(let operations) = root.content else {
            throw .badRequest("the patch is \(root.kind), not an array of operations")
        }
        guard operations.count <= Self.maximumOperations else {
            throw .badRequest("the patch has more than \(Self.maximumOperations) operations")
        }
        var problems = ProblemList()
        var changes: [InstallationChange] = []
        for (index, operation) in operations.enumerated() {
            guard case .object(let members) = operation.content else {
                problems.add("operation \(index + 1) is \(operation.kind), not an object")
                continue
            }
            var reader = InstallationOperationReader(JSONMembers(members), number: index + 1)
            if let change = reader.read() { changes.append(change) }
            for problem in reader.problems.problems { problems.add(problem) }
        }
        try problems.throwIfAny()
        self.changes = changes
    }

    /// Returns the installation with every operation applied in order.
    ///
    /// - Throws: ``ProtocolError`` 400 with every rule that the result would break; the original is unchanged.
    package func applied(
        to installation: Installation,
        maximumTags: Int = Installation.maximumTags
    ) throws(ProtocolError) -> Installation {
        var result = installation
        for change in changes { change.apply(to: &result) }
        try result.validate(replacing: installation, maximumTags: maximumTags)
        return result
    }

    /// Tags that the patch removes by name, anywhere in the installation.
    package var removedTags: [Tag] {
        changes.compactMap { if case .target(_, .tags(_, .remove(let tag))) = $0 { tag } else { nil } }
    }
}
