import NocturneConcurrency
package import NocturneInference
package import NocturneRecipeSupport

/// A package that classifies photos, with its networks in memory.
///
/// The classifier's first input is the picture (1, 3, side, side). If the package has metadata, the input named
/// `metadata`, else the other one, is its vector (1, 4). The output named `logits`, else the first, holds the classes.
/// With an attention graph, the output named `features`, else the second, is passed to that graph's input of this name,
/// together with `target` (1, classes), 1 for the class to explain, and `metadata` if the graph has such an input; the
/// graph returns a map (1, h, w).
package final class PhotoClassificationModel: PhotoModel {
    /// The package, the engine, and the precision.
    package let chosen: ChosenModel
    /// The checked section of the package.
    package let settings: Settings
    let image: String
    let metadata: String?
    let logits: String
    let features: String?
    private let classifier: any LoadedNetwork
    private let attention: (any LoadedNetwork)?

    /// Loads the networks and checks that their inputs and outputs match the package.
    /// - Throws: ``UnusablePackageError``, `ModelFormatError`.
    package init(_ chosen: ChosenModel) throws {
        self.chosen = chosen
        settings = try Self.checkedSettings(of: chosen)
        classifier = try chosen.load(settings.classifier)
        let inputs = classifier.inputs.map(\.name)
        let wanted = settings.metadata == nil ? 1 : 2
        guard inputs.count == wanted else {
            throw chosen.unusable("the classifier has \(inputs.count) inputs; expected \(wanted)")
        }
        let metadata = wanted == 1 ? nil : inputs.first { $0 == "metadata" } ?? inputs[1]
        self.metadata = metadata
        image = inputs.first { $0 != metadata } ?? inputs[0]
        let outputs = classifier.outputs.map(\.name)
        let logits = outputs.first { $0 == "logits" } ?? outputs.first ?? ""
        self.logits = logits
        features =
            settings.attention == nil ? nil : outputs.first { $0 == "features" } ?? outputs.first { $0 != logits }
        attention = try settings.attention.map(chosen.load)
        try checkOutputs()
    }

    private static func checkedSettings(of chosen: ChosenModel) throws -> Settings {
        let package = chosen.package
        try package.require(task: PhotoClassification.task, for: "classification of photos")
        let settings = try Settings(package)
        for text in [package.name, package.description] + settings.classes.flatMap({ [$0.name, $0.title] }) {
            guard let claim = ReportText.diagnosticClaim(in: text) else { continue }
            throw chosen.unusable(
                "its text \"\(text.prefix(80))\" contains \"\(claim)\", which results must not contain"
            )
        }
        return settings
    }

    private func checkOutputs() throws {
        let given = try classifier.outputShapes(inputShapes: classifierShapes)
        guard let classes = given[logits], classes.reduce(1, *) == settings.classes.count else {
            throw chosen.unusable("the classifier returns \(given[logits] ?? []) for \(settings.classes.count) classes")
        }
        if settings.output == .logits,
            let fault = classifier.activationFault(
                of: logits,
                in: settings.classifier,
                applied: .softmax,
                setting: "output to probabilities"
            )
        {
            throw chosen.unusable(fault)
        }
        guard let attention else { return }
        guard let features, let shape = given[features], shape.count == 4 else {
            throw chosen.unusable(
                "the attention graph needs an output of the classifier named features, with four axes"
            )
        }
        let available: Set = metadata == nil ? ["features", "target"] : ["features", "target", "metadata"]
        let inputs = attention.inputs.map(\.name)
        guard available.isSuperset(of: inputs), inputs.contains("features"), inputs.contains("target") else {
            throw chosen.unusable(
                "the attention graph has the inputs \(inputs); expected some of \(available.sorted())"
            )
        }
        let map = try attention.outputShapes(inputShapes: attentionShapes(attention, features: shape))
        guard let output = attention.outputs.first, let extents = map[output.name], extents.count >= 2,
            extents.dropLast(2).allSatisfy({ $0 == 1 })
        else { throw chosen.unusable("the attention graph returns \(map), not one map") }
    }

    private func attentionShapes(_ graph: any LoadedNetwork, features: [Int]) -> [String: [Int]] {
        var shapes: [String: [Int]] = [:]
        for input in graph.inputs.map(\.name) {
            switch input {
            case "features": shapes[input] = features
            case "target": shapes[input] = [1, settings.classes.count]
            case "metadata": shapes[input] = [1, 4]
            default: break
            }
        }
        return shapes
    }

    /// The classifier with its picture, and the attention graph with the feature maps, each with its other inputs.
    func networkInputs() throws -> [NetworkInputs] {
        func network(_ file: String, _ main: String, _ shapes: [String: [Int]]) -> NetworkInputs {
            NetworkInputs(file: file, shape: shapes[main] ?? [], others: shapes.filter { $0.key != main })
        }
        var networks = [network(settings.classifier, image, classifierShapes)]
        if let file = settings.attention, let attention, let features {
            let maps = try classifier.outputShapes(inputShapes: classifierShapes)[features] ?? []
            networks.append(network(file, "features", attentionShapes(attention, features: maps)))
        }
        return networks
    }

    private var classifierShapes: [String: [Int]] {
        var shapes = [image: [1, 3, settings.inputSize, settings.inputSize]]
        if let metadata { shapes[metadata] = [1, 4] }
        return shapes
    }

    /// As the package states it, in pixels.
    package var minimumSide: Int { settings.minimumSide }

    /// The classifier, and the attention graph where there is one.
    package var networks: [any LoadedNetwork] { [classifier] + (attention.map { [$0] } ?? []) }

    /// Weights, a workspace of the classifier, and 1 MiB.
    package func residentBytes(threads: Int) throws -> Int {
        let workspace = try classifier.workspaceBytes(inputShapes: classifierShapes, width: threads)
        return workspace + classifier.weightBytes + (attention?.weightBytes ?? 0) + (1 << 20)
    }

    /// By how the classifier scales.
    package func threadsOfProcess(cores: Int) throws -> Int {
        try classifier.threadScaling(inputShapes: classifierShapes)?.threadsOfProcess(cores: cores) ?? cores
    }

    // MARK: Running

    /// What runs the networks from now on.
    var engineInUse: EngineInUse { chosen.engineInUse(classifier) }

    /// The classifier's outputs for a prepared picture: one value per class, and the feature maps for
    /// ``attention(_:)``.
    func classify(
        picture: [Float],
        vector: [Float],
        in sessions: PhotoSessions,
        scope: ComputeScope
    ) throws -> (values: [Float], features: Tensor?) {
        let side = settings.inputSize
        var inputs = [image: Tensor(shape: [1, 3, side, side], values: picture)]
        if let metadata { inputs[metadata] = Tensor(shape: [1, 4], values: vector) }
        let shape = [1, 3, side, side]
        let session = try sessions.session(of: package.id + " classifier", shape: shape, width: scope.width) {
            try classifier.makeSession(inputShapes: classifierShapes, width: scope.width, memory: $0)
        }
        let outputs = try session.run(inputs, scope: scope)
        return (outputs[logits]?.values ?? [], features.flatMap { outputs[$0] })
    }

    /// The attention map for the score of a class; nil for a package without an attention graph.
    func attention(
        features: Tensor,
        vector: [Float],
        index: Int,
        in sessions: PhotoSessions,
        scope: ComputeScope
    ) throws -> AttentionMap? {
        guard let attention else { return nil }
        let network = package.id + " attention"
        let session = try sessions.session(of: network, shape: features.shape, width: scope.width) {
            let shapes = attentionShapes(attention, features: features.shape)
            return try attention.makeSession(inputShapes: shapes, width: scope.width, memory: $0)
        }
        var target = [Float](repeating: 0, count: settings.classes.count)
        target[index] = 1
        var inputs = ["features": features, "target": Tensor(shape: [1, target.count], values: target)]
        if attention.inputs.contains(where: { $0.name == "metadata" }) {
            inputs["metadata"] = Tensor(shape: [1, 4], values: vector)
        }
        let outputs = try session.run(inputs, scope: scope)
        guard let map = attention.outputs.first.flatMap({ outputs[$0.name] }) else { return nil }
        return try AttentionMap(index: index, shape: map.shape, values: map.values)
    }
}
