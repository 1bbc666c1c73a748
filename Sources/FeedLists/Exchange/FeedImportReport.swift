/// The result of an import for each feed.
package struct FeedImportReport: Sendable, Equatable, Encodable {
    package struct Added: Sendable, Equatable, Encodable {
        package let category: String
        package let url: String
        package let title: String?
        package let file: String
    }

    /// A feed that is already in a list, or appears twice in the document.
    package struct Skipped: Sendable, Equatable, Encodable {
        package let url: String
        /// The list that already has it.
        package let place: String
    }

    package struct Refused: Sendable, Equatable, Encodable {
        /// The line in the document, from 1, if known.
        package let line: Int?
        package let name: String
        package let reason: String
    }

    package internal(set) var added: [Added] = []
    package internal(set) var skipped: [Skipped] = []
    package internal(set) var refused: [Refused] = []
    /// Differences between the document and the imported values.
    package internal(set) var notes: [String] = []
    /// Files that are created or changed.
    package internal(set) var files: [String] = []
    /// True if nothing was written.
    package var dryRun = false
    package internal(set) var hints: Set<FeedImportHint> = []

    private enum CodingKeys: CodingKey { case added, skipped, refused, notes, files, dryRun }
}

/// Advice for feeds that were not imported; the command line provides the wording.
package enum FeedImportHint: Sendable, CaseIterable {
    /// Feeds outside folders need a category.
    case category
    /// Some keys are only accepted from the user's own documents.
    case trust
}
