/// The limits of one document; libxml2 limits neither text nor the number of elements.
enum XMLLimits {
    /// The largest nesting depth of elements.
    ///
    /// Feeds need about ten, and marked-up text in them several dozen.
    static let depth = 200
    /// The largest number of elements and texts in a document; a feed of five thousand entries has about 200,000.
    static let nodes = 500_000
    /// The largest number of attributes of one tag, including namespace declarations; further ones are dropped.
    static let attributes = 128
    /// The largest number of namespaces declared by all open elements.
    ///
    /// libxml2 searches all of them for a prefix. Generators that declare one on every element stay far below this
    /// limit.
    static let namespaces = 1_000
    /// The largest number of different names in one document.
    static let names = 10_000
    /// The largest number of namespace declarations in one document.
    ///
    /// libxml2 keeps every string in a table that does not grow, so a million different ones would take minutes.
    static let namespaceDeclarations = 250_000
    /// The largest number of processing instructions in one document, whose names go into the same table; feeds have
    /// one or two.
    static let instructions = 1_000
    /// The largest number of declarations in a document type that libxml2 reads; ``XMLRepair`` reads documents with
    /// more.
    static let declarations = 256
    /// The number of bytes kept of one text or attribute value; the rest is dropped.
    static let fieldBytes = 1_048_576
}
