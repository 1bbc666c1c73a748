/// The outcome of each feed that was to be put into lists.
package struct FeedImportReport: Sendable, Equatable {
    package struct Added: Sendable, Equatable {
        package let category: String
        package let address: String
        package let title: String?
        package let file: String
    }

    /// A feed that is in a list already, or twice in the document.
    package struct Skipped: Sendable, Equatable {
        package let address: String
        /// The list that has it already.
        package let place: String
    }

    package struct Refused: Sendable, Equatable {
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
}
