import NocturneConcurrency
import NocturneInference
import NocturneRecipes
import NocturneSystem

/// Networks and the packages around them.
enum FuzzModels {
    /// Reads, binds and plans the network, and runs it where it is small.
    static func network(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let path = InputFile.write(bytes, "network.onnx")
        guard let network = try? BuiltinEngine().load(onnx: path, precision: .float32) else { return true }
        // Open extents are given by a package; the first is the batch.
        var shapes: [String: [Int]] = [:]
        for input in network.inputs {
            shapes[input.name] = input.shape.enumerated().map { $1 ?? ($0 == 0 ? 1 : 8) }
        }
        guard let bytes = try? network.workspaceBytes(inputShapes: shapes, width: 1), bytes <= 1 << 18,
            shapes.values.allSatisfy({ $0.reduce(1, *) <= 1 << 16 }),
            let session = try? network.makeSession(inputShapes: shapes, width: 1),
            session.outputShapes.values.allSatisfy({ $0.reduce(1, *) <= 1 << 16 })
        else { return true }
        let inputs = shapes.mapValues { shape in
            Tensor(shape: shape, values: (0..<shape.reduce(1, *)).map { Float($0 % 7) - 3 })
        }
        _ = try? session.run(inputs, scope: .serial())
        return true
    }

    static func package(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = InputFile.write(bytes, ModelPackage.documentName)
        _ = try? ModelPackage.load(folder: InputFile.folder) { package throws(ModelPackageError) in
            try RecipeRegistry.all.validate(package)
        }
        return true
    }
}
