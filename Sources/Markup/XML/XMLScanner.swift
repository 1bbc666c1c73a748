internal import CLibXML2

/// Reads XML with libxml2; never loads a DTD or other files, and continues after errors of well-formedness.
///
/// Most documents pass the strict parse. Other documents are first rewritten by ``XMLRepair``, because libxml2's own
/// recovery drops or moves text: after the first error it omits every entity reference.
package enum XMLScanner {
    /// Reads a document that has been decoded to UTF-8.
    ///
    /// - Returns: The tree, empty when the document contains no element.
    package static func tree(of utf8: [UInt8], vocabulary: XMLVocabulary) -> XMLTree {
        if let fault = XMLCrowdedTag.fault(in: utf8) {
            return repairedTree(of: utf8, vocabulary: vocabulary, fault: fault)
        }
        if let long = XMLLongTexts(utf8) {
            var builder = XMLTreeBuilder(vocabulary, policy: .strict)
            builder.parse(long.document, texts: long.texts, of: utf8)
            // A fault is searched for again in the original document, to report its line.
            if builder.fault == nil, builder.namespaceFault == nil, !builder.needsDeclarations {
                return builder.tree(fault: nil, isComplete: true)
            }
        }
        var strict = XMLTreeBuilder(vocabulary, policy: .strict)
        strict.parse(utf8)
        let fault = strict.fault ?? strict.namespaceFault
        guard strict.fault != nil || strict.needsDeclarations, !strict.reachedLimit else {
            return strict.tree(fault: fault, isComplete: !strict.reachedLimit)
        }
        return repairedTree(of: utf8, vocabulary: vocabulary, fault: fault)
    }

    private static func repairedTree(
        of utf8: [UInt8],
        vocabulary: XMLVocabulary,
        fault: XMLSyntaxError?
    ) -> XMLTree {
        var repair = XMLRepair(utf8, vocabulary: vocabulary)
        repair.run()
        var lenient = XMLTreeBuilder(vocabulary, policy: .recovering)
        lenient.parse(repair.output)
        return lenient.tree(fault: fault, isComplete: repair.isComplete && !lenient.reachedLimit)
    }

    /// Reads a small document in UTF-8, whose author should correct it if it is not well-formed.
    ///
    /// - Returns: A tree with a root.
    /// - Throws: The first fault; document type declarations, undeclared prefixes and exceeded limits are faults.
    package static func strictTree(
        of utf8: [UInt8],
        vocabulary: XMLVocabulary
    ) throws(XMLSyntaxError) -> XMLTree {
        let builder = try strictBuilder(of: utf8, vocabulary)
        if let fault = builder.namespaceFault { throw fault }
        return builder.tree(fault: nil, isComplete: true)
    }

    /// - Throws: The first fault; a document type declaration is one.
    static func check(_ utf8: [UInt8]) throws(XMLSyntaxError) { _ = try strictBuilder(of: utf8, .plain) }

    private static func strictBuilder(
        of utf8: [UInt8],
        _ vocabulary: XMLVocabulary
    ) throws(XMLSyntaxError) -> XMLTreeBuilder {
        if let fault = XMLCrowdedTag.fault(in: utf8) { throw fault }
        var builder = XMLTreeBuilder(vocabulary, policy: .withoutDoctype)
        builder.parse(utf8)
        if let fault = builder.fault { throw fault }
        guard builder.hasRoot else { throw XMLSyntaxError(line: 1, reason: "the document has no element") }
        return builder
    }
}
