import NocturneInference

/// The sessions of the classifiers in use and of their attention graphs, created on first use and reused across items.
/// The inference stage owns them.
final class ClassificationSessions {
    enum Network: Hashable { case classifier, attention }

    private struct Key: Hashable {
        let model: String
        let network: Network
    }

    private var made: [Key: any NetworkSession] = [:]

    func session(of model: String, _ network: Network, _ make: () throws -> any NetworkSession) throws
        -> any NetworkSession
    {
        let key = Key(model: model, network: network)
        if let session = made[key] { return session }
        let session = try make()
        made[key] = session
        return session
    }
}
