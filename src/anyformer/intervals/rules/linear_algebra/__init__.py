"""Rules of sums of products: matmul, einsum and what is made of them."""
