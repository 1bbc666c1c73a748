import Markup

/// Names in the service's documents: Atom around registrations, hubs and jobs, and telemetry.
///
/// Source: protocol §2.
enum AtomNames {
    static let atom = "http://www.w3.org/2005/Atom"
    static let serviceBus = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    /// The service's own documentation spells it like this (§2).
    static let secureServiceBus = "https" + serviceBus.dropFirst(4)
    static let instance = "http://www.w3.org/2001/XMLSchema-instance"
    static let metadata = "http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"

    /// Recognizes namespaces by their addresses, whatever prefix a document binds to them.
    static let vocabulary = XMLVocabulary(
        names: [feed, entry, title, content, nilAttribute, typeAttribute, headerName, headerValue]
            + RegistrationField.allCases.map(\.qualifiedName),
        space: { namespace, prefix in
            switch namespace {
            case atom: "atom"
            case serviceBus, secureServiceBus: "sb"
            case instance: "i"
            default: namespace ?? prefix ?? ""
            }
        }
    )

    static let feed = "atom:feed"
    static let entry = "atom:entry"
    static let title = "atom:title"
    static let content = "atom:content"
    static let nilAttribute = "i:nil"
    static let typeAttribute = "i:type"
    static let headerName = "sb:Header"
    static let headerValue = "sb:Value"
    /// The beginning of the name of every element of a description.
    static let serviceBusPrefix = "sb:"
}
