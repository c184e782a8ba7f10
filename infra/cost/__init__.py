"""What the platform costs: public prices and measured figures in, a month's bill out."""
