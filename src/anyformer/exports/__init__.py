"""Taking a model away: folders that hold it whole, or are refused."""

from anyformer.exports.folder import load_folder, save_folder

__all__ = ["load_folder", "save_folder"]
