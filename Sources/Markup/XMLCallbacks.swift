internal import CLibXML2

/// libxml2's SAX2 table with only what is wanted in it.
///
/// Entities are not declared, so nothing can be expanded.
enum XMLCallbacks {
    static func install(in context: xmlParserCtxtPtr, for builder: XMLTreeBuilder) {
        guard let table = context.pointee.sax else { return }
        table.pointee = xmlSAXHandler()
        table.pointee.initialized = UInt32(XML_SAX2_MAGIC)
        table.pointee.startElementNs = { user, local, prefix, namespace, _, _, count, _, values in
            XMLCallbacks.builder(user)?.start(local, prefix, namespace, attributeCount: Int(count), values)
        }
        table.pointee.endElementNs = { user, _, _, _ in XMLCallbacks.builder(user)?.end() }
        table.pointee.characters = { user, text, count in
            if let text { XMLCallbacks.builder(user)?.text(text, count: Int(count)) }
        }
        table.pointee.cdataBlock = { user, text, count in
            if let text { XMLCallbacks.builder(user)?.text(text, count: Int(count)) }
        }
        table.pointee.getEntity = { user, name in XMLCallbacks.builder(user)?.entity(name) }
        table.pointee.internalSubset = { user, _, _, _ in XMLCallbacks.builder(user)?.doctype() }
        table.pointee.serror = { user, error in
            if let error { XMLCallbacks.builder(user)?.report(error) }
        }
        context.pointee.userData = Unmanaged.passUnretained(builder).toOpaque()
    }

    private static func builder(_ user: UnsafeMutableRawPointer?) -> XMLTreeBuilder? {
        user.map { Unmanaged<XMLTreeBuilder>.fromOpaque($0).takeUnretainedValue() }
    }
}
