/// What bounds one document, since libxml2 bounds neither text nor the number of elements.
enum XMLLimits {
    /// Elements inside one another.
    ///
    /// Feeds need about ten, marked-up text in them some dozens.
    static let depth = 200
    /// Elements and texts of a document; a feed of five thousand entries has about 200,000.
    static let nodes = 500_000
    /// Attributes kept of one element.
    static let attributes = 128
    /// Different names in one document.
    static let names = 10_000
    /// Bytes kept of one text or attribute value; what follows is left out.
    static let fieldBytes = 1_048_576
}
