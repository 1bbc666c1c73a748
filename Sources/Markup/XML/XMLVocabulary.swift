/// The names that a scanner knows of the documents it reads.
package struct XMLVocabulary: Sendable {
    /// Names of root elements, lower case, without prefix, by which a document is found after other text.
    let roots: Set<String>
    /// Names of elements that hold records, lower case, without prefix.
    let containers: Set<String>
    /// Names of elements that are never inside one of their own kind, lower case: the start of one ends another that
    /// was left open.
    let records: Set<String>
    /// The short name of a namespace, for every spelling and every prefix that documents use for it.
    ///
    /// Without a namespace there may still be a prefix, which its document did not declare.
    let space: @Sendable (_ namespace: String?, _ prefix: String?) -> String
    /// The one name by which the reader knows an element or attribute of a space.
    ///
    /// Without namespace and prefix the local name is as written in the document, and may contain a colon.
    let naming: @Sendable (_ space: String, _ local: String) -> String
    /// The numbers of the names that the reader asks for; a tree numbers other names after them.
    let numbers: [String: Int32]

    package init(
        roots: Set<String>,
        containers: Set<String>,
        records: Set<String>,
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

    /// The vocabulary of documents of which only the local names matter.
    static let plain = XMLVocabulary(roots: [], containers: [], records: [], space: { _, _ in "" })
}
