/// The names that a scanner knows in the documents it reads.
package struct XMLVocabulary: Sendable {
    /// Names of root elements, in lower case without prefix, by which a document is found after other text.
    let roots: Set<String>
    /// Names of elements that contain records, in lower case without prefix.
    let containers: Set<String>
    /// Names, in lower case, of elements that never contain one of the same name: a start tag closes an open one.
    let records: Set<String>
    /// The short name of a namespace, for every spelling and prefix of it in documents.
    ///
    /// Without a namespace there may still be a prefix that the document did not declare.
    let space: @Sendable (_ namespace: String?, _ prefix: String?) -> String
    /// The canonical name of an element or attribute in a namespace.
    ///
    /// Without namespace and prefix, the local name is as written in the document, and may contain a colon.
    let naming: @Sendable (_ space: String, _ local: String) -> String
    /// The numbers of the names that the reader uses; a tree gives larger numbers to other names.
    let numbers: [String: Int32]

    package init(
        roots: Set<String> = [],
        containers: Set<String> = [],
        records: Set<String> = [],
        names: [String] = [],
        space: @escaping @Sendable (_ namespace: String?, _ prefix: String?) -> String = { $1 ?? "" },
        naming: @escaping @Sendable (_ space: String, _ local: String) -> String = {
            $0.isEmpty ? $1 : $0 + ":" + $1
        }
    ) {
        self.roots = roots
        self.containers = containers
        self.records = records
        self.space = space
        self.naming = naming
        var numbers: [String: Int32] = [:]
        for name in names where numbers[name] == nil { numbers[name] = Int32(numbers.count) }
        self.numbers = numbers
    }

    /// A vocabulary for documents in which only the local names matter.
    package static let plain = XMLVocabulary(space: { _, _ in "" })
}
