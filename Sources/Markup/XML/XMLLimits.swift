/// The limits of one document, since libxml2 limits neither text nor the number of elements.
enum XMLLimits {
    /// Elements inside one another.
    ///
    /// Feeds need about ten, marked-up text in them some dozens.
    static let depth = 200
    /// Elements and texts of a document; a feed of five thousand entries has about 200,000.
    static let nodes = 500_000
    /// Attributes of one tag, declarations of namespaces among them; of a tag with more the first are kept.
    static let attributes = 128
    /// Namespaces declared by elements that are open together.
    ///
    /// libxml2 looks through all of them for a prefix. Generators that declare one on every element stay far below.
    static let namespaces = 1_000
    /// Different names in one document.
    static let names = 10_000
    /// Declarations of namespaces in one document.
    ///
    /// libxml2 keeps every string in a table that does not grow, so that a million different ones take minutes.
    static let namespaceDeclarations = 250_000
    /// Processing instructions of one document, whose names go into the same table; feeds have one or two.
    static let instructions = 1_000
    /// Declarations of a document type that libxml2 reads; ``XMLRepair`` takes documents with more.
    static let declarations = 256
    /// Bytes kept of one text or attribute value; what follows is left out.
    static let fieldBytes = 1_048_576
}
