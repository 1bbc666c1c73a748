/// The outcome of each feed that was to be put into lists.
package struct FeedImportReport: Sendable, Equatable, Encodable {
    package struct Added: Sendable, Equatable, Encodable {
        package let category: String
        package let url: String
        package let title: String?
        package let file: String
    }

    /// A feed that is in a list already, or twice in the document.
    package struct Skipped: Sendable, Equatable, Encodable {
        package let url: String
        /// The list that has it already.
        package let place: String
    }

    package struct Refused: Sendable, Equatable, Encodable {
        /// In the document, from 1, where known.
        package let line: Int?
        package let name: String
        package let reason: String
    }

    package internal(set) var added: [Added] = []
    package internal(set) var skipped: [Skipped] = []
    package internal(set) var refused: [Refused] = []
    /// Differences between the document and what was understood.
    package internal(set) var notes: [String] = []
    /// Files that are made or added to.
    package internal(set) var files: [String] = []
    /// True if nothing was written.
    package var dryRun = false
    package internal(set) var hints: Set<FeedImportHint> = []

    private enum CodingKeys: CodingKey { case added, skipped, refused, notes, files, dryRun }
}

/// Advice for feeds that were not taken; the command line puts it into words.
package enum FeedImportHint: Sendable, CaseIterable {
    /// Feeds that are in no folder need a category.
    case category
    /// Some keys are taken from a document of one's own making only.
    case trust
}
