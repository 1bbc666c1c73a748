internal import CLibXML2

/// The table of libxml2's SAX2 callbacks, with only the needed ones.
///
/// Entities are counted but not declared, so nothing can be expanded. No callback calls the parser: a parser that is
/// stopped or freed within a callback would continue in freed memory.
enum XMLCallbacks {
    /// Gives libxml2 the next part of the document; its context is the builder.
    static let read: xmlInputReadCallback = { user, buffer, count in
        guard let buffer, count > 0, let builder = XMLCallbacks.builder(user) else { return 0 }
        return Int32(builder.pointee.read(into: UnsafeMutableRawPointer(buffer), count: Int(count)))
    }

    static func install(in context: xmlParserCtxtPtr, for builder: UnsafeMutablePointer<XMLTreeBuilder>) {
        guard let table = context.pointee.sax else { return }
        table.pointee = xmlSAXHandler()
        table.pointee.initialized = UInt32(XML_SAX2_MAGIC)
        table.pointee.startElementNs = { user, local, prefix, namespace, declared, _, count, _, values in
            guard let builder = XMLCallbacks.builder(user) else { return }
            if declared > 0 { builder.pointee.declareNamespaces(Int(declared)) }
            builder.pointee.start(local, prefix, namespace, attributeCount: Int(count), values)
        }
        table.pointee.endElementNs = { user, _, _, _ in XMLCallbacks.builder(user)?.pointee.end() }
        table.pointee.characters = { user, text, count in
            if let text { XMLCallbacks.builder(user)?.pointee.text(text, count: Int(count)) }
        }
        table.pointee.cdataBlock = table.pointee.characters
        table.pointee.processingInstruction = { user, target, _ in
            if let target { XMLCallbacks.builder(user)?.pointee.instruction(target) }
        }
        table.pointee.getEntity = { user, name in XMLCallbacks.builder(user)?.pointee.entity(name) }
        table.pointee.internalSubset = { user, _, _, _ in XMLCallbacks.builder(user)?.pointee.doctype() }
        table.pointee.entityDecl = { user, _, _, _, _, _ in XMLCallbacks.builder(user)?.pointee.declaration() }
        table.pointee.unparsedEntityDecl = { user, _, _, _, _ in XMLCallbacks.builder(user)?.pointee.declaration() }
        table.pointee.notationDecl = { user, _, _, _ in XMLCallbacks.builder(user)?.pointee.declaration() }
        table.pointee.elementDecl = { user, _, _, _ in XMLCallbacks.builder(user)?.pointee.declaration() }
        table.pointee.attributeDecl = { user, _, _, _, _, _, enumeration in
            xmlFreeEnumeration(enumeration)
            XMLCallbacks.builder(user)?.pointee.attributeDeclaration()
        }
        table.pointee.serror = { user, error in
            if let error { XMLCallbacks.builder(user)?.pointee.report(error) }
        }
        context.pointee.userData = UnsafeMutableRawPointer(builder)
    }

    private static func builder(_ user: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<XMLTreeBuilder>? {
        user?.assumingMemoryBound(to: XMLTreeBuilder.self)
    }
}
